// What the pictures of virtual time share: the lanes of the queue, how times are written, SVG elements and patterns.
export const LANES = {
  active: "in activeQ, to be tried next",
  popped: "being tried",
  backoff: "failed, waits for its backoff to end",
  unschedulable: "failed, waits for an event that may help",
  gated: "held back before the queue",
  waiting: "has a node, held by Permit or being bound",
  bound: "runs on its node",
  gone: "finished, deleted or evicted",
};
export const nameOf = (lane) => lane === "popped" ? "in a cycle" : lane || "new";

const NS = "http://www.w3.org/2000/svg";

export function svg(tag, attributes = {}, text = "") {
  const made = document.createElementNS(NS, tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

export function el(tag, { text, title, ...rest } = {}, ...children) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (title) made.title = title;
  for (const [key, value] of Object.entries(rest)) if (value !== undefined) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// One pattern a lane, so that colour is not the only difference. Marks of a pattern: paths in a tile of 8 by 8.
const MARKS = {
  backoff: "M-2 2l4-4M0 8l8-8M6 10l4-4",
  unschedulable: "M0 0l8 8M0 8l8-8",
  gated: "M2 0v8M6 0v8",
  waiting: "M1 2h3M5 6h3",
  active: "",
  bound: "M0 6h8",
  gone: "M4 3v2",
};

export function patterns() {
  const defs = svg("defs");
  for (const [lane, mark] of Object.entries(MARKS)) {
    const tile = svg("pattern", { id: `lane-${lane}`, width: 8, height: 8, patternUnits: "userSpaceOnUse", class: `lane-${lane}` });
    tile.append(svg("rect", { width: 8, height: 8, class: "ground" }), svg("path", { d: mark, class: "mark-line" }));
    defs.append(tile);
  }
  const head = svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" });
  head.append(svg("path", { d: "M0 0.5L8 4L0 7.5z", class: "arrow-head" }));
  defs.append(head);
  return defs;
}

export function swatch(lane) {
  const box = svg("svg", { width: 16, height: 12, class: "swatch", "aria-hidden": "true" });
  box.append(svg("rect", { width: 16, height: 12, rx: 2, fill: `url(#lane-${lane})` }));
  return box;
}

// A moment: 12.3 s, 2:09.8, 1:02:09.
export function clock(t) {
  if (t < 60) return `${round(t)} s`;
  const tenths = Math.round(t * 10);
  const whole = Math.floor(tenths / 10);
  const pad = (value) => String(value).padStart(2, "0");
  const rest = tenths % 10 ? `.${tenths % 10}` : "";
  if (whole < 3600) return `${Math.floor(whole / 60)}:${pad(whole % 60)}${rest}`;
  return `${Math.floor(whole / 3600)}:${pad(Math.floor(whole / 60) % 60)}:${pad(whole % 60)}`;
}

// A length of time: 0 s, 1.25 s, 3 min 20 s, 2 h 5 min.
export function span(seconds) {
  if (seconds < 60) return `${round(seconds)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min${whole % 60 ? ` ${whole % 60} s` : ""}`;
  const minutes = Math.round(whole / 60);
  return `${Math.floor(minutes / 60)} h${minutes % 60 ? ` ${minutes % 60} min` : ""}`;
}

function round(value) {
  return Number(value.toFixed(value < 10 ? 2 : 1));
}

// Marks of a time axis between two moments: about `count` of them at round numbers.
export function ticks(from, to, count) {
  const steps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
  const step = steps.find((value) => (to - from) / value <= count) ?? Math.ceil((to - from) / count / 86400) * 86400;
  const found = [];
  for (let t = Math.ceil(from / step) * step; t <= to + 1e-9; t += step) found.push(Number(t.toFixed(3)));
  return found;
}

// A long name without its middle: names of a kind differ at their end.
export function shortened(name, size = 28) {
  if (name.length <= size) return name;
  const tail = Math.floor(size / 2);
  return `${name.slice(0, size - 1 - tail)}…${name.slice(-tail)}`;
}

export const podAddress = (base, key) => `${base}${key.split("/").map(encodeURIComponent).join("/")}/`;

export function remember(t) {
  const address = new URL(location.href);
  if (t === null) address.searchParams.delete("t"); else address.searchParams.set("t", String(Number(t.toFixed(3))));
  history.replaceState(history.state, "", address);
}

export function remembered() {
  const text = new URL(location.href).searchParams.get("t");
  const t = text === null || text.trim() === "" ? NaN : Number(text);
  return Number.isFinite(t) && t >= 0 ? t : null;
}
