// Provenance dialog: a click on a number opens its tree, with a sentence first. The URL contains the open tree.
import { param, pushAddress, withParams } from "./address.js";
import { button, el } from "./dom.js";
import { POINT_OF } from "./map/url_state.js";
import { fetchJson } from "./requests.js";

const panel = document.getElementById("from");
const form = document.getElementById("from-query");
const answer = document.getElementById("from-tree");
const POINTS = ["preenqueue", "filter", "raw", "normalized", "weighted", "total", "preemption", "reserve", "permit"];
const WORDS = {
  filter: "verdict",
  raw: "raw score",
  normalized: "normalized",
  weighted: "weighted",
  preemption: "choice",
};
const SIGNS = {
  sum: "+",
  subtract: "−",
  multiply: "×",
  divide_int: "÷, whole",
  divide: "÷",
  min: "smallest of",
  max: "largest of",
  count: "how many",
  abs: "without sign",
  sqrt: "√",
  log: "ln",
  round: "rounded",
  truncate: "truncate",
  if: "if, then, else",
  and: "all of",
  or: "any of",
  not: "not",
  equal: "=",
  less: "<",
  less_equal: "≤",
  contains: "contains",
};
const SMALL = 80; // trees with up to this many values are fully expanded; of larger ones, only the first levels
const OPEN_LEVELS = 3;

const page = () => document.getElementById("pod").dataset;
const asking = () => JSON.parse(document.getElementById("asking")?.textContent ?? "{}");
const KEYS = ["point", "plugin", "node", "move", "until"]; // the last two are used for queue times
const focusHere = () => Object.fromEntries(KEYS.map((key) => [key, param(key) ?? ""]));

// ---- formatting of values

const BYTES = { Gi: 2 ** 30, Mi: 2 ** 20, Ki: 2 ** 10 };

function amount(value, unit) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value === "" ? "“”" : value;
  if (typeof value !== "number") return JSON.stringify(value);
  if (unit === "s") return `${Number(value.toFixed(6)).toLocaleString("en", { maximumFractionDigits: 6 })} s`;
  const prefix = unit === "B" && Object.keys(BYTES).find((name) => Math.abs(value) >= BYTES[name]);
  if (prefix) return `${Number((value / BYTES[prefix]).toFixed(2)).toLocaleString("en")}${prefix}`;
  const shown = Number.isInteger(value) ? value : Number(value.toPrecision(6));
  return `${shown.toLocaleString("en", { maximumFractionDigits: 6 })}${unit === "m" ? "m" : ""}`;
}

function links(tree) {
  const found = [];
  const base = location.pathname.split("/pods/")[0];
  const { source, cycle } = tree;
  if (source) {
    const then = tree.seq ? { seq: tree.seq } : { cycle: page().cycle };
    const query = new URLSearchParams({ ...source, ...then });
    const title = `${source.kind} ${source.namespace ? `${source.namespace}/` : ""}${source.name}: ${source.path}`;
    const name = `${source.kind} ${source.name} · ${source.path}`;
    found.push(el("a", { href: `${panel.dataset.object}?${query}#queried`, text: name, title, class: "field" }));
  }
  const chip = (href, text) => found.push(el("a", { href: `${base}/${href}`, text, class: "chip" }));
  if (cycle && !source) chip(`cycles/${cycle}/`, `cycle ${cycle}`);
  if (cycle && source?.kind === "Pod") {
    const [namespace, name] = [source.namespace, source.name].map(encodeURIComponent);
    chip(`pods/${namespace}/${name}/?cycle=${cycle}`, `cycle ${cycle}`);
  }
  if (tree.seq) chip(`?seq=${tree.seq}`, "that moment");
  if (tree.op === "argument") {
    const { plugin = "", profile = "", path } = tree;
    const query = new URLSearchParams({ kind: "KubeSchedulerConfiguration", plugin, profile, path });
    const title = plugin ? `${plugin}, profile ${profile}` : "configuration";
    found.push(el("a", { href: `${panel.dataset.object}?${query}#queried`, text: path, title }));
    if (tree.default) found.push(el("span", { class: "chip", text: "default" }));
  }
  if (tree.op === "over" && tree.node) chip(`nodes/${encodeURIComponent(tree.node)}/`, tree.node);
  if (tree.op === "rest" && tree.page) found.push(button("show them", { class: "quiet tiny", "data-page": tree.page }));
  return found;
}

// Returns a row: the value, its label and how it was computed. Arguments of an operation are listed below it.
function row(tree) {
  const title = `${tree.value}${tree.unit ?? ""}`;
  const value = el("b", { class: "value", text: amount(tree.value, tree.unit), title });
  const how = el("span", { class: "op", text: SIGNS[tree.op] ?? tree.op, title: tree.op });
  return [value, how, el("span", { text: tree.label ?? "" }), ...links(tree)];
}

const size = (tree) => 1 + (tree.args ?? []).reduce((sum, arg) => sum + size(arg), 0);

function branch(tree, depth) {
  if (!tree.args?.length) return el("li", { class: "leaf" }, ...row(tree));
  const args = tree.args.map((arg) => branch(arg, depth + 1));
  const below = el("details", {}, el("summary", {}, ...row(tree)), el("ul", {}, ...args));
  below.open = depth < OPEN_LEVELS;
  return el("li", {}, below);
}

// ---- requests

let latest = 0;

async function ask(focus, number = 1) {
  const mine = ++latest;
  fill(focus);
  answer.setAttribute("aria-busy", "true");
  const found = await request({ ...focus, cycle: focus.move ? "" : page().cycle, page: number }).then(
    (tree) => [
      el("p", { class: "lead", text: tree.text }),
      el("ul", { class: "tree" }, branch(tree, size(tree) <= SMALL ? -Infinity : 0)),
    ],
    ({ message }) => [el("p", { class: "notice bad", role: "alert", text: message })],
  );
  if (mine !== latest) return;
  answer.removeAttribute("aria-busy");
  answer.replaceChildren(...found);
}

function request(query) {
  const { run, pod } = page();
  const place = pod.split("/").map(encodeURIComponent).join("/");
  const given = new URLSearchParams(Object.entries(query).filter(([, value]) => value));
  return fetchJson(`/api/runs/${run}/pods/${place}/provenance?${given}`, "The value could not be loaded. Try again.");
}

function fill({ point, plugin = "", node = "" }) {
  form.hidden = point === "queue";
  const { points = {} } = asking();
  const { elements } = form;
  const options = (names, words = {}) => names.map((name) => el("option", { value: name, text: words[name] ?? name }));
  const known = POINTS.filter((name) => name in points);
  elements.point.replaceChildren(...options(known, WORDS));
  elements.point.value = point;
  const plugins = points[point] ?? [];
  elements.plugin.replaceChildren(...options(plugins));
  elements.plugin.value = plugin;
  elements.plugin.closest("label").hidden = !plugins.length;
  elements.node.value = node;
}

// ---- open, close, URL

const isFocus = ({ point, plugin, node, move }) =>
  (point === "queue" && move !== "") ||
  (point in (asking().points ?? {}) && node !== "" && (plugin !== "" || point === "total" || point === "preemption"));

const push = (focus) => pushAddress(withParams(Object.fromEntries(KEYS.map((key) => [key, focus[key] || null]))));

function show(focus) {
  if (!panel.open) panel.showModal();
  ask(focus);
}

function look() {
  const focus = focusHere();
  if (isFocus(focus)) show(focus);
  else if (panel.open) panel.close();
}

document.addEventListener("click", (event) => {
  const from = event.target.closest("[data-from]");
  if (from) {
    push(wanted(from));
    show(wanted(from));
  } else if (event.target === panel) panel.close();
  const more = event.target.closest("#from-tree [data-page]");
  if (more) ask(focusHere(), Number(more.dataset.page));
});
// Returns the focus that a value on the page requests.
function wanted({ dataset: { from: point, plugin = "", node = asking().node, move = "", until = "" } }) {
  return point === "queue" ? { point, move, until } : { point, plugin, node };
}

// The first request about a cycle makes the server rebuild the cluster, so it is sent when the pointer comes near.
let near = "";
document.addEventListener("pointerover", (event) => {
  const from = event.target.closest("[data-from]");
  if (!from || from.dataset.from === "queue" || near === page().cycle) return;
  near = page().cycle;
  request({ ...wanted(from), cycle: near }).catch(() => {}); // a click shows the error
});

form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("change", () => {
  const focus = Object.fromEntries(new FormData(form));
  const plugins = asking().points[focus.point] ?? [];
  if (!plugins.includes(focus.plugin)) focus.plugin = plugins[0] ?? "";
  push(focus);
  show(focus);
});
panel.addEventListener("close", () => {
  const { point, plugin } = focusHere();
  if (!isFocus(focusHere())) return;
  if (point === "queue") push({});
  else push({ point: POINT_OF[point] ?? point, plugin: point === "filter" ? plugin : "" });
});
addEventListener("popstate", look);
look();
