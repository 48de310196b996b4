// Shared by the charts over virtual time: fill patterns of the queues and shapes of event marks.
import { svg } from "../dom.js";
import { drawnAs } from "./labels.js";

// One pattern per queue, so that colour is not the only difference. Each is an SVG path in an 8 by 8 tile.
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
  const size = { width: 8, height: 8 };
  const tiles = Object.entries(MARKS).map(([lane, mark]) =>
    svg(
      "pattern",
      { id: `lane-${lane}`, ...size, patternUnits: "userSpaceOnUse", class: `lane-${lane}` },
      svg("rect", { ...size, class: "ground" }),
      svg("path", { d: mark, class: "mark-line" }),
    ),
  );
  const about = { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, orient: "auto-start-reverse" };
  const tip = svg("path", { d: "M0 0.5L8 4L0 7.5z", class: "arrow-head" });
  return svg("defs", {}, ...tiles, svg("marker", { ...about, markerWidth: 7, markerHeight: 7 }, tip));
}

// Returns a small sample of a queue's pattern, for legends and tables.
export function swatch(lane) {
  const size = { width: 16, height: 12 };
  const box = svg("rect", { ...size, rx: 2, fill: `url(#lane-${drawnAs(lane)})` });
  return svg("svg", { ...size, class: "swatch", "aria-hidden": "true" }, box);
}

// One shape per kind of mark, in a box from -6 to 6.
const SHAPES = {
  step: "M-4 6V-6L5 -2.5L-4 1",
  created: "M0 -5.5L5.5 4.5H-5.5Z",
  deleted: "M0 5.5L5.5 -4.5H-5.5Z",
  cordon: "M-5 0A5 5 0 1 1 5 0A5 5 0 1 1 -5 0M-3.5 3.5L3.5 -3.5",
  taint: "M-4.5 -4.5H4.5V4.5H-4.5Z",
  allocatable: "M-1.7 -5.5H1.7V-1.7H5.5V1.7H1.7V5.5H-1.7V1.7H-5.5V-1.7H-1.7Z",
  condition: "M0 -5.5A5.5 5.5 0 0 1 0 5.5Z M0 -5.5A5.5 5.5 0 0 0 0 5.5",
  label: "M-5.5 -3.5H1.5L5.5 0L1.5 3.5H-5.5Z",
  changed: "M-2.5 0A2.5 2.5 0 1 1 2.5 0A2.5 2.5 0 1 1 -2.5 0",
  preempted: "M-4.5 -4.5L4.5 4.5M4.5 -4.5L-4.5 4.5",
  tainted: "M-5 -5H5V5H-5ZM-2.5 -2.5L2.5 2.5M2.5 -2.5L-2.5 2.5",
  drained: "M0 -5.5V4.5M-4 0.5L0 4.5L4 0.5",
  evicted: "M-4.5 0H4.5M1 -3.5L4.5 0L1 3.5",
  nominated: "M0 -6L1.6 -2L5.8 -1.9L2.5 0.8L3.6 4.9L0 2.5L-3.6 4.9L-2.5 0.8L-5.8 -1.9L-1.6 -2Z",
  withdrawn: "M0 -5.5L5.5 0L0 5.5L-5.5 0ZM-5.5 5.5L5.5 -5.5",
  warning: "M0 -5.5L6 5H-6ZM0 -1.5V1.5M0 3.2V3.6",
};

export const markShape = (kind) => svg("path", { d: SHAPES[kind] ?? SHAPES.changed });
