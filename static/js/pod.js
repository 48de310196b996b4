// Pod page: moves through extension points with arrow keys, follows a live run, and shows thousands of nodes quickly.
import { keepParams, param, pushAddress, replaceParams, withParams } from "./address.js";
import { showClaims } from "./claims.js";
import { onGoTo, onKeys } from "./keys.js";
import { loadParts } from "./lazy_load.js";
import { POINT_OF } from "./map/url_state.js";
import { NodeList } from "./nodelist.js";
import { follow, revealSteps } from "./pod_live.js";
import { fetchPage } from "./requests.js";
import { centre } from "./scroll.js";
import { showTrials, trialBy } from "./trials.js";

const KEPT = ["point", "plugin", "t"]; // parameters that links to other attempts and pods keep
let list = null;
let first = document.getElementById("pod").dataset.point;

const steps = () => [...document.querySelectorAll("#stepper [data-step]")];
const current = () => document.getElementById("pod").dataset.point;

function open(point, push = true) {
  const panel = document.getElementById(`point-${point}`);
  if (!panel) return;
  document.getElementById("pod").dataset.point = point;
  for (const other of document.querySelectorAll("[data-panel]")) other.hidden = other !== panel;
  for (const step of steps()) {
    const link = step.querySelector("a");
    if (step.dataset.step === point) {
      link.setAttribute("aria-current", "step");
      const bar = step.parentElement;
      bar.scrollTo({ left: step.offsetLeft - (bar.clientWidth - step.clientWidth) / 2, behavior: "auto" });
    } else link.removeAttribute("aria-current");
  }
  if (push) pushAddress(withParams({ point, ...(point !== "filter" && { plugin: null }) }));
  if (point === "filter") list?.render();
  if (["prefilter", "filter"].includes(point)) showClaims();
  if (point === "postfilter") showTrials();
  document.dispatchEvent(new Event("stepshown"));
}

function step(by) {
  const keys = steps().map((item) => item.dataset.step);
  const next = keys[keys.indexOf(current()) + by];
  if (next) open(next);
}

// Keyboard shortcuts of this page (parts/pod_keys.html lists them). Keys that scroll the page are not used.
let turning = Promise.resolve(); // quick key presses are handled one after another
const turns = (way) => () => {
  turning = turning.then(() => {
    const link = document.querySelector(`[data-way="${way}"]`);
    if (!link) return undefined;
    keepParams(link, KEPT);
    return visit(link.href);
  });
};
// Goes to another cycle of the run, of any pod, at the same extension point.
function toCycle(number) {
  const { cycle, cycles } = document.getElementById("pod").dataset;
  const wanted = Math.max(1, Math.min(Number(cycles), number));
  if (!cycle || wanted === Number(cycle)) return;
  const page = `${location.pathname.split("/pods/")[0]}/cycles/${wanted}/`;
  location.assign(withParams({ point: param("point"), plugin: param("plugin") }, page));
}
const cycleBy = (by) => () => toCycle(Number(document.getElementById("pod").dataset.cycle) + by);

// Selects the next plugin of the visible panel, then those of the next point. For preemption, selects the next
// dry-run step.
function pluginBy(by) {
  if (current() === "postfilter" && trialBy(by)) return;
  const heads = () => [...document.querySelectorAll(`#point-${current()} th[data-plugin]`)];
  const at = heads().findIndex((head) => head.hasAttribute("aria-current"));
  const next = heads()[at < 0 && by < 0 ? -1 : at + by];
  if (next) {
    choosePlugin(next.dataset.plugin);
    return;
  }
  const before = current();
  step(by);
  const other = heads().at(by > 0 ? 0 : -1);
  if (current() !== before && other) choosePlugin(other.dataset.plugin);
}
onKeys({
  ArrowLeft: () => step(-1),
  ArrowRight: () => step(1),
  n: turns("next"),
  p: turns("prev"),
  j: () => pluginBy(1),
  k: () => pluginBy(-1),
  ".": cycleBy(1),
  ",": cycleBy(-1),
  s: () => {
    const link = document.querySelector("[data-present]");
    if (!link) return;
    keepParams(link, KEPT);
    link.click();
  },
});

onGoTo(toCycle);

const attemptIn = (address) => ["cycle", "attempt"].map((key) => new URL(address).searchParams.get(key)).join("/");
let shown = attemptIn(location);

// Replaces the shown attempt. Its URL can be shared, and Back returns to the previous attempt.
async function visit(address, push = true) {
  const fresh = (await fetchPage(address)).getElementById("pod");
  if (!fresh) {
    location.assign(address);
    return;
  }
  const way = document.activeElement?.closest("[data-way]")?.dataset.way;
  if (push) pushAddress(address);
  shown = attemptIn(address);
  const story = document.getElementById("way"); // the timeline covers all attempts
  if (story) fresh.querySelector("#way")?.replaceWith(story);
  place(fresh);
  document.querySelector(`[data-way="${way}"]`)?.focus({ preventScroll: true });
}

for (const type of ["click", "auxclick", "contextmenu"])
  document.addEventListener(
    type,
    (event) => {
      const link = event.target.closest("a[data-keep]");
      if (link) keepParams(link, KEPT);
    },
    { capture: true },
  );

document.addEventListener("click", (event) => {
  const link = event.target.closest("#attempts a, #stepper a, .matrix th.plug a");
  if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    if (link.closest("#attempts")) visit(link.href);
    else if (link.closest("#stepper")) open(link.closest("[data-step]").dataset.step);
    else choosePlugin(link.closest("th").dataset.plugin);
  }
  const decided = event.target.closest("a[data-open]"); // in a sentence: what decided
  if (decided && !event.ctrlKey && !event.metaKey && !event.shiftKey) openDecided(event, decided.dataset);
  const group = event.target.closest("[data-show-group]");
  if (group) {
    list?.showGroup(Number(group.dataset.showGroup));
    document.getElementById("nodes-card").scrollIntoView({ block: "nearest" });
  }
});

addEventListener("popstate", () => {
  if (attemptIn(location) !== shown) {
    visit(location.href, false);
    return;
  }
  open(POINT_OF[param("point")] || param("point") || first, false);
  choosePlugin(param("plugin") || "", false);
});

function openDecided(event, { open: point, plugin = "" }) {
  if (!document.getElementById(`point-${point}`)) return;
  event.preventDefault();
  open(point);
  choosePlugin(plugin, false);
  if (plugin) replaceParams({ plugin }, { own: true });
  document.getElementById("stepper").scrollIntoView({ block: "start" });
}

// Selects a plugin in the matrix or the score table: highlights its column and the lines of the pod's YAML that it
// reads.
function choosePlugin(name, push = true) {
  const heads = [...document.querySelectorAll(`#point-${current()} th[data-plugin]`)];
  const again = heads.find((head) => head.dataset.plugin === name)?.hasAttribute("aria-current");
  if (again && push) name = "";
  for (const table of document.querySelectorAll(".matrix, table.scores"))
    [...table.querySelectorAll("th[data-plugin]")].forEach((head, index) => {
      head.toggleAttribute("aria-current", head.dataset.plugin === name);
      for (const row of table.querySelectorAll("tbody tr"))
        row.querySelectorAll("td.cell, td.part")[index]?.classList.toggle("col", head.dataset.plugin === name);
    });
  let first = null;
  for (const line of document.querySelectorAll(".yaml [data-plugins]")) {
    const hit = name !== "" && line.dataset.plugins.split(" ").includes(name);
    line.classList.toggle("hit", hit);
    if (hit) first ??= line;
  }
  if (first) {
    document.getElementById("yaml").open = true;
    first.parentElement.scrollTop = first.offsetTop - first.parentElement.offsetTop - 40;
  }
  if (push) replaceParams({ plugin: name || null, point: current() }, { own: true });
  document.dispatchEvent(new Event("stepshown"));
}

// Clicking a line of the YAML selects the plugin that reads it.
document.addEventListener("click", (event) => {
  const line = event.target.closest(".yaml [data-plugins]");
  const inMatrix = (name) => document.querySelector(`.matrix th.plug[data-plugin="${CSS.escape(name)}"]`);
  const plugin = line?.dataset.plugins.split(" ").find(inMatrix);
  if (!plugin) return;
  open("filter");
  choosePlugin(plugin);
});

function setUp() {
  const data = document.getElementById("matrix-data");
  list = data ? new NodeList(JSON.parse(data.textContent)) : null;
  if (param("plugin")) choosePlugin(param("plugin"), false);
  if (param("node")) list?.search(param("node"), false);
  loadParts();
  centre(document.querySelector("#attempts ol [aria-current]"));
}

// The map stays, and shows another cycle.
function keepMap(fresh) {
  const map = document.getElementById("pod-map");
  if (!map || !fresh) return;
  map.dataset.cycle = fresh.dataset.cycle;
  map.querySelector("[data-of-cycle]").replaceWith(fresh.querySelector("[data-of-cycle]"));
  fresh.replaceWith(map);
}

// Inserts the updated page from the server.
function place(fresh) {
  const wanted = current();
  keepMap(fresh.querySelector("#pod-map"));
  document.getElementById("pod").replaceWith(fresh);
  first = fresh.dataset.point;
  setUp();
  document.dispatchEvent(new Event("podrefreshed"));
  open(wanted && param("point") !== null ? wanted : first, false);
}

// While the run goes on, the page is updated when the server has more of the pod. The steps of a new cycle appear one by
// one, unless the address names an attempt.
async function reload() {
  const before = document.getElementById("pod").dataset.cycle;
  const fresh = (await fetchPage(location.href)).getElementById("pod");
  if (!fresh) return;
  const isNew = fresh.dataset.cycle && fresh.dataset.cycle !== before && attemptIn(location) === "/";
  place(fresh);
  if (!isNew || document.hidden) return;
  const point = current();
  await revealSteps(fresh, (key) => open(key, false));
  open(point, false);
  document.getElementById("pod-news").textContent = fresh.querySelector(".answer")?.textContent.trim() ?? "";
}

const page = document.getElementById("pod");
setUp();
open(current(), false);
if (page.dataset.live) follow(page.dataset, reload);
history.replaceState({ own: true }, "");
