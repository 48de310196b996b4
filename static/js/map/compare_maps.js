// Two runs side by side: one set of controls moves both maps. See docs/debugger.md, Compare.
import { replaceParams, withParams } from "../address.js";
import { drawCharts } from "../charts.js";
import { el, whenVisible } from "../dom.js";
import { counted } from "../format.js";
import { byCycle, byPod, byTime, difference } from "./alignment.js";
import { Source } from "./api.js";
import { Controls, listenToKeys, listenToNumbers } from "./controls.js";
import { Choices } from "./display_options.js";
import { Legend } from "./legend.js";
import { Player } from "./player.js";
import { usageOf } from "./quantities.js";
import { tableSwitch } from "./table_switch.js";
import { View } from "./view.js";

const box = document.getElementById("maps");
const { together, leads } = box.dataset;
const inTime = together === "time";
const source = new Source(box.dataset.src);
let partners = { of: [], parting: Number(box.dataset.parting) || undefined };
let drawn = "";

const sides = [...box.querySelectorAll("[data-side]")].map((own) => {
  const view = new View(own.querySelector("[data-canvas]"), (node) => leader.player.choose(node));
  const about = { source: new Source(own.dataset.src), view, inTime, failed };
  const leading = own.dataset.side === leads;
  const player = new Player(leading ? { ...about, shown, also: follow } : { ...about, shown: () => {}, quiet: true });
  view.tallest = innerWidth < 900 ? 0.42 : 0.56;
  const legend = new Legend(own.querySelector("[data-shades]"), view);
  const showTable = tableSwitch(own, view, player, box.querySelector("[data-as-table]"));
  return { own, view, player, legend, showTable, cycles: Number(own.dataset.cycles) };
});
const leader = sides.find(({ own }) => own.dataset.side === leads);
const other = sides.find((side) => side !== leader);
const worlds = () => sides.map(({ player }) => player.world).filter(Boolean);
sides[1].view.pair(sides[0].view, {
  // Nodes and pods of either run have the same place and colour in both maps.
  nodes: () =>
    new Map(
      worlds()
        .reverse()
        .flatMap((world) => [...world.nodes]),
    ).values(),
  pods: () => worlds().flatMap((world) => [...world.pods.values()]),
});
const bothInTime = sides.every(({ own }) => own.dataset.inTime !== undefined);
const views = sides.map(({ view }) => view);
const controls = new Controls(box, leader.player, inTime);
listenToKeys(() => leader.player);
listenToNumbers(leader.player);
const choices = new Choices(box, views, shown);

// ---- display

// Moves the other run to the position of this one.
async function follow({ animate, playing }) {
  const { player } = leader;
  const { focus, cycleHere } = player;
  other.player.speed = player.speed;
  let to = {};
  if (together === "pod") to = byPod(focus, cycleHere, other.cycles, partners.of);
  else if (inTime || (bothInTime && focus.t !== undefined && focus.cycle === undefined)) {
    await around(player.second);
    const pod = player.world.cycle.get(focus.cycle)?.pod ?? "";
    to = byTime(focus, player.second, pod, other.player.world);
  } else to = byCycle(focus, cycleHere, other.cycles);
  await other.player.to(to, { address: "keep", animate, playing, seek: false });
  if (playing && other.player.world) other.player.ahead(player.playing);
}

// Loads the other run's change stream around a second, with all changes at that second.
async function around(t) {
  const { player } = other;
  await player.reach({ t });
  for (let from = -1; player.world.from > 0 && player.world.from !== from && player.world.instants[0].t >= t; ) {
    from = player.world.from;
    await player.more(-1);
  }
}

function shown() {
  const found = worlds();
  if (found.length < 2) return;
  box.querySelector("[data-wait]").hidden = true;
  arrange(found);
  const differs = difference(...found);
  sides.forEach(({ own, view, player, legend, showTable }, index) => {
    view.evicting(player.victims);
    view.mark(leader.player.focus.node ?? "", { keys: differs.keys, nodes: differs.nodes[index] });
    legend.show();
    own.querySelector("[data-status]").replaceChildren(...positionOf(player, own));
    if (!leader.player.playing) showTable();
  });
  controls.show();
  const count = differs.keys.size;
  box.querySelector("[data-apart]").textContent = count
    ? `${counted(count, "pod")} on different nodes at this step, marked ≠`
    : "All pods are on the same nodes at this step";
}

// Both maps use the same layout. If nodes of either run change, both are laid out again.
function arrange(found) {
  const now = found.map(({ shape }) => shape).join(" ");
  const same = sides.every(({ player }) => player.world === player.arranged);
  if (same && now === drawn) return;
  drawn = now;
  for (const { player } of sides) player.arranged = player.world;
  if (same)
    views.forEach((view, index) => {
      view.arrange(found[index]);
    });
  else choices.offer(found);
}

// Returns the position of a run, its current pod and the selected node as text.
function positionOf(player, _own) {
  const { trace, world, view } = player;
  const lines = [player.place];
  if (trace) {
    const where = trace.node ? ` on ${trace.node}` : trace.nominated ? `, nominated to ${trace.nominated}` : "";
    lines.push(`${trace.pod}: ${trace.result}${where}`);
  }
  const name = leader.player.focus.node;
  const { fill } = view.by;
  const node = world.nodes.get(name);
  if (name && !node) lines.push(`${name}: does not exist`);
  if (node) lines.push(`${name}: ${usageOf(world, name, fill)}, ${counted(world.requested(name, "pods"), "pod")}`);
  return lines.map((text, index) => el("span", { text, class: index ? "wrap" : "num" }));
}

function failed(error) {
  const wait = box.querySelector("[data-wait]");
  wait.hidden = false;
  wait.textContent = error.message;
}

// ---- user actions

box.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button?.dataset.do === "parting") {
    leader.player.pause();
    leader.player.to({ cycle: partners.parting });
  }
});

// Another stepping mode needs other controls, so the page is reloaded.
box.querySelector("[data-how]").addEventListener("change", ({ target }) => {
  const address = withParams({ together: target.value, t: null });
  address.hash = "maps";
  location.assign(address);
});

document.addEventListener("swapped", () => {
  if (!leader.player.world) return;
  replaceParams({ together });
  choices.write("group", "fill", "colour");
  leader.player.write("replace");
});

async function open() {
  if (together === "pod") partners = await source.get("");
  await leader.player.open();
}

whenVisible(box, () => open().catch(failed));
drawCharts();
