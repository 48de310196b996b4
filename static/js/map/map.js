// The map of a run: what it shows and the controls around it. See docs/debugger.md, The map.
import { el, svg } from "../dom.js";
import { onKeys } from "../keys.js";
import { clock } from "../time/clock.js";
import { counted } from "../words.js";
import { amount, resourceName } from "./amounts.js";
import { Aside } from "./aside.js";
import { BY, HEAT, inkOn } from "./colours.js";
import { focusIn } from "./focus.js";
import { BY_NOTHING, BY_ROLE, called, choices, usual } from "./grouping.js";
import { PATTERNS } from "./paint.js";
import { Player } from "./player.js";
import { Source } from "./source.js";
import { Stops } from "./stops.js";
import { NodeTable } from "./table.js";
import { SPEEDS, speedFor } from "./transport.js";
import { View } from "./view.js";

const box = document.getElementById("map");
const part = (name) => box.querySelector(`[data-${name}]`);
const number = new Intl.NumberFormat("en");
const inTime = box.dataset.inTime !== undefined;
const source = new Source(box.dataset.src);
const view = new View(part("canvas"), (node) => choose(node));
const player = new Player({ source, view, inTime, shown, failed });
const aside = new Aside(box, player, view);
const stops = new Stops(part("stops"), source, player);
const table = new NodeTable(part("table"), view, player);
const slider = box.querySelector("input[type=range]");
let world = null;

// ---- what is shown

function shown() {
  if (player.world !== world) {
    world = player.world;
    offer();
  }
  part("wait").hidden = true;
  const victims = new Set(player.told?.victims ?? []);
  if (view.by.colour === "verdict" && `${[...victims]}` !== `${[...(view.victims ?? [])]}`) view.recolour(victims);
  view.mark(player.focus.node ?? "");
  hand();
  transport();
  legend();
  if (player.playing) aside.showNode();
  if (!player.playing || player.told) aside.show();
  if (!player.playing) table.show();
}

function failed(error) {
  const wait = part("wait");
  wait.hidden = false;
  wait.textContent = error.message;
}

// The pod in hand, over the map.
function hand() {
  const { told } = player;
  const asked = told && [...world.pods.values()].find(({ key, state }) => key === told.pod && state > 0)?.requests;
  const shows =
    asked && view.by.fill !== "pods"
      ? `, ${amount(asked[view.by.fill] ?? 0, view.by.fill)} ${resourceName(view.by.fill)}`
      : "";
  part("hand").hidden = !told;
  if (told) part("hand").textContent = `${told.pod}${shows}`;
}

function transport() {
  const { cycles, end } = world;
  const at = player.cycleHere;
  slider.max = inTime ? Math.max(1e-6, world.timeOf(end), Number(box.dataset.until) || 0) : cycles + 1;
  slider.min = inTime ? 0 : 1;
  slider.value = inTime ? player.second : at;
  const between = player.cycle === undefined;
  const place =
    at > cycles
      ? `after ${counted(cycles, "cycle")}`
      : `${between ? "before cycle" : "cycle"} ${number.format(at)} of ${number.format(cycles)}`;
  const when = inTime ? `${clock(player.second)}, ${place}` : place;
  slider.setAttribute("aria-valuetext", when);
  part("place").textContent = when;
  for (const button of box.querySelectorAll("[data-play]")) {
    const on = player.playing === Number(button.dataset.play);
    button.setAttribute("aria-pressed", String(on));
    button.classList.toggle("on", on);
  }
  part("stopped").textContent = player.stopped ? `Stopped: ${player.stopped}` : "";
}

function legend() {
  const { classes } = view.colouring ?? { classes: [] };
  const { plugins, scored, of } = view.picture;
  const named = classes.map(({ name, colour, letter }) => el("span", {}, swatch(colour, letter), name));
  const key = `${view.painter.theme} ${view.by.colour} ${classes.map(({ name }) => name)} ${plugins.map(({ name, nodes }) => name + nodes)} ${scored}`;
  if (part("shades").dataset.key === key) return;
  part("shades").dataset.key = key;
  const refused = plugins
    .filter(({ nodes }) => nodes)
    .map(({ name, nodes }) =>
      el("span", {}, hatch(plugins.findIndex((one) => one.name === name)), `${name} refuses ${number.format(nodes)}`),
    );
  const ramp = scored
    ? [
        el(
          "span",
          {},
          ...HEAT[view.painter.theme].map((colour) => swatch(colour)),
          `${number.format(scored[0])} to ${number.format(scored[1])} points`,
        ),
      ]
    : [];
  const chosen = [...of.values()].some(({ kind }) => kind === "chosen") ? [el("span", { text: "★ chosen" })] : [];
  const faded = [...of.values()].some(({ kind }) => kind === "unseen")
    ? [el("span", { text: "faded: not looked at" })]
    : [];
  part("shades").replaceChildren(...named, ...refused, ...ramp, ...faded, ...chosen);
}

function swatch(colour, letter = "") {
  const made = svg("svg", { width: 14, height: 14, "aria-hidden": "true" });
  made.append(svg("rect", { width: 14, height: 14, rx: 2, fill: colour }));
  if (letter)
    made.append(
      svg("text", { x: 7, y: 10.5, "text-anchor": "middle", class: "on-block", fill: inkOn(colour) }, letter),
    );
  return made;
}

function hatch(by) {
  const made = svg("svg", { width: 16, height: 16, viewBox: "0 0 8 8", class: "hatch", "aria-hidden": "true" });
  made.append(svg("rect", { width: 8, height: 8 }), svg("path", { d: PATTERNS[by % PATTERNS.length] }));
  return made;
}

// ---- choices

const kept = (name) => new URL(location.href).searchParams.get(name);

function offer() {
  const offered = choices(world.nodes.values());
  const asked = kept("group");
  const known = asked !== null && (asked === BY_NOTHING || offered.some(([key]) => key === asked));
  view.by.group = known ? asked : (view.by.asked ?? usual(offered));
  const name = (key) => (key === BY_ROLE ? "role" : called(key));
  fill(
    part("group"),
    [...offered.map(([key, count]) => [key, `${name(key)} (${count})`, key]), [BY_NOTHING, "no groups"]],
    view.by.group,
  );
  const resources = world.resources();
  if (!resources.includes(view.by.fill)) view.by.fill = resources[0];
  if (resources.includes(kept("fill"))) view.by.fill = kept("fill");
  fill(
    part("fill"),
    resources.map((one) => [one, resourceName(one), one]),
    view.by.fill,
  );
  if (BY[kept("colour")]) view.by.colour = kept("colour");
  fill(part("colour"), Object.entries(BY), view.by.colour);
  view.arrange(world);
  view.show(view.picture);
}

function fill(select, options, chosen) {
  select.replaceChildren(
    ...options.map(([value, text, title]) =>
      el("option", { value, text, title, selected: value === chosen ? "" : undefined }),
    ),
  );
}

for (const [name, change] of Object.entries({
  group: () => view.arrange(world),
  fill: () => view.recolour(),
  colour: () => view.recolour(),
}))
  part(name).addEventListener("change", () => {
    view.by[name] = part(name).value;
    if (name === "group") view.by.asked = view.by.group;
    const address = new URL(location.href);
    address.searchParams.set(name, view.by[name]);
    history.replaceState(history.state, "", address);
    if (name === "group") view.camera = { x: 0, y: 0, zoom: 1 };
    change();
    shown();
  });

for (const speed of SPEEDS) part("speed").append(el("option", { value: speed, text: `${speed} a second` }));
part("speed").value = String(Math.min(30, speedFor(Number(box.dataset.cycles) || 1)));
player.speed = Number(part("speed").value);
part("speed").addEventListener("change", () => {
  player.speed = Number(part("speed").value);
});
part("unit").addEventListener("change", () => {
  player.unit = part("unit").value;
});

// ---- what a person does

function choose(node) {
  player.to({ ...player.focus, node: node || undefined, step: player.step }, { address: "push" });
  if (node) view.reveal(node);
}

const step = (by) => {
  player.pause();
  return player.go(player.unit, by);
};
const actions = {
  start: () => player.start(),
  back: () => step(-1),
  forward: () => step(1),
  end: () => player.end(),
  "play-back": () => player.play(-1),
  play: () => player.play(1),
};

box.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  const link = event.target.closest("a[data-focus]");
  if (link && !(event.ctrlKey || event.metaKey || event.shiftKey)) {
    event.preventDefault();
    player.pause();
    player.to(focusIn(new URL(link.href).search));
    return;
  }
  if (!button) return;
  const { dataset } = button;
  if (dataset.do) actions[dataset.do]();
  if (dataset.next) nextTime(dataset.next);
  if (dataset.keep) stops.keep({ name: dataset.name, where: dataset.keep });
  if (dataset.closeNode !== undefined) choose("");
  if (dataset.asTable !== undefined) asTable(button);
});

async function nextTime(where) {
  player.pause();
  try {
    if (!(await player.find(where, 1))) stops.say("It does not happen again in this run.");
  } catch (error) {
    stops.wrong(where, error);
  }
}

function asTable(button) {
  const on = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", String(on));
  part("table").hidden = !on;
  part("canvas").hidden = on;
  if (on) table.show();
  else view.arrange(world);
}

let sliding = 0;
slider.addEventListener("input", () => {
  player.pause();
  const value = Number(slider.value);
  clearTimeout(sliding);
  sliding = setTimeout(
    () =>
      player.to(inTime ? { t: Math.round(value * 1000) / 1000 } : { cycle: Math.round(value) }, { address: "replace" }),
    16,
  );
});
slider.addEventListener("keydown", (event) => {
  const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
  if (!by || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  event.stopPropagation();
  player.pause();
  player.go("cycle", by);
});

// ---- keys (parts/map_keys.html lists them)

const other = (which) => () => {
  const to = player.told?.[which];
  if (to) player.to({ cycle: to, ...pointOf() });
};
const pointOf = () => (player.focus.point ? { point: player.focus.point, plugin: player.focus.plugin } : {});
const by = (unit, way) => () => {
  player.pause();
  player.go(unit, way);
};
onKeys({
  ArrowLeft: by("point", -1),
  ArrowRight: by("point", 1),
  k: by("plugin", -1),
  j: by("plugin", 1),
  p: other("before"),
  n: other("after"),
  ",": by("cycle", -1),
  ".": by("cycle", 1),
  g: () => document.getElementById("go-to").showModal(),
});

const goTo = document.getElementById("go-to");
goTo.addEventListener("close", () => {
  const wanted = Number(goTo.querySelector("input").value);
  if (goTo.returnValue === "go" && Number.isInteger(wanted) && world)
    player.to({ cycle: Math.max(1, Math.min(world.cycles + 1, wanted)) });
});

// ---- what happens elsewhere

addEventListener("popstate", () => {
  player.pause();
  player.to(focusIn(location.search), { address: "keep" });
});
document.addEventListener("swapped", () => player.world && player.write("replace"));
document.addEventListener("moment", ({ detail: { t } }) => {
  if (player.world) player.to({ t }, { address: "later", playing: true, seek: false });
});
document.addEventListener("refreshed", () => {
  if (!player.playing) player.follow().catch(failed);
});
view.box.addEventListener("recoloured", legend);

const opened = new IntersectionObserver((entries) => {
  if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
  opened.disconnect();
  player.open().catch(failed);
  stops.load().catch((error) => stops.say(error.message));
});
opened.observe(box);
