// Player of a clip: a stretch of a run in a file that plays without a server (docs/sharing.md).
import { World } from "./map/cluster_model.js";
import { Controls, listenToKeys, listenToNumbers } from "./map/controls.js";
import { choices, usual } from "./map/grouping.js";
import { Legend } from "./map/legend.js";
import { Player } from "./map/player.js";
import { SavedSource } from "./map/saved_source.js";
import { laddered, pictured, rowsOf, words } from "./map/verdicts.js";
import { View } from "./map/view.js";

const SPEED = 2; // steps per second at the beginning
const box = document.getElementById("map");
const part = (name) => document.querySelector(`[data-${name}]`);

async function saved() {
  const bytes = Uint8Array.from(atob(document.getElementById("data").textContent), (one) => one.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(plain).json();
}

const data = await saved();
const { picture, cycles, look, focus } = data;

const ladderOf = ({ ladder, names: nodes }) =>
  ladder.map(({ rows, ...rung }) => ({ ...rung, nodes: [...rowsOf(rows)].map((row) => nodes[row]) }));

const view = new View(part("canvas"), (node) => player.choose(node));
const player = new Player({
  source: new SavedSource(data),
  view,
  inTime: false,
  shown,
  failed,
  home: focus,
  quiet: true,
});
const controls = new Controls(box, player, false);
listenToKeys(() => player);
listenToNumbers(player);
const legend = new Legend(part("shades"), view);
let listed = null; // the decision to which the list was scrolled
const decisions = [...box.querySelectorAll("[data-decision]")];

// The options of the map from which the clip was saved.
Object.assign(view.by, { colour: "verdict" }, look);
if (look.group === undefined) view.by.group = usual(choices(new World(picture).nodes.values()));
Object.assign(player, { unit: "point", speed: SPEED });
part("unit").value = player.unit;
part("speed").value = String(player.speed);

function shown() {
  const { trace, step, focus: here, cycleHere } = player;
  view.evicting(player.victims);
  if (trace && step < 0) view.show(laddered(pictured(trace, step), ladderOf(trace)));
  view.mark(here.node ?? "");
  controls.show();
  legend.show();
  const about = cycles[cycleHere - 1];
  part("when").textContent = about?.heading ?? "After the last cycle of this clip";
  part("pod").textContent = about?.pod ?? "";
  part("answer").textContent = about?.sentence ?? "";
  part("hand").hidden = !here.node;
  part("hand").textContent = [here.node, words(view.picture.of.get(here.node), view.picture)]
    .filter(Boolean)
    .join(": ");
  for (const [index, decision] of decisions.entries())
    list(decision, index === cycleHere - 1, trace?.steps[step]?.point);
}

// Opens the shown decision in the list of all, and marks its extension point.
function list(decision, current, point) {
  decision.querySelector("details").open = current;
  if (current && listed !== decision) {
    listed = decision;
    decision.parentElement.scrollTop = decision.offsetTop;
  }
  for (const item of decision.querySelectorAll("[data-point]")) {
    const on = current && item.dataset.point === point;
    if (on) item.setAttribute("aria-current", "step");
    else item.removeAttribute("aria-current");
  }
}

function failed(error) {
  part("answer").textContent = error.message;
}

// Space plays and pauses, unless it activates what has the focus.
document.addEventListener("keydown", (event) => {
  if (event.key !== " " || event.target.closest("button, a, input, select, summary, dialog")) return;
  event.preventDefault();
  player.play(1);
});

box.querySelector("[data-dialog]").addEventListener("click", () => document.getElementById("keys").showModal());

view.tallest = 0.5; // leaves space for the sentence
player.open();
