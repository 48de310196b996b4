// The queue rows over virtual time: the size of each queue, and its pods at the selected time.

import { el, svg } from "../dom.js";
import { number } from "../format.js";
import { clock, ticks } from "./clock.js";
import { patterns, swatch } from "./drawing.js";
import { LANES, podAddress, shortened } from "./labels.js";

const CHIPS = 24;
const HEIGHT = 40;
const EMPTY = 12; // height of a queue that is empty in the whole visible range

export class LaneRows {
  constructor(box, lanes) {
    this.pods = box.dataset.pods;
    box.append(svg("svg", { width: 0, height: 0, "aria-hidden": "true", class: "patterns" }, patterns()));
    const place = box.querySelector(".lane-rows");
    this.rows = lanes.map((lane, index) => {
      const row = made(lane, index);
      const chips = el("div", { class: "lane-here" }, row.chips, row.more);
      place.append(el("div", { class: `lane lane-${lane}`, "data-lane": lane }, row.label, row.picture, chips));
      return row;
    });
    this.axis = svg("svg", { class: "lane-axis", height: 20, "aria-hidden": "true", "data-scrub": "" });
    place.append(el("div", { class: "lane axis" }, el("span"), this.axis, el("span")));
  }

  // Draws the size of every queue over the axis.
  draw(sizes, axis, width) {
    for (const row of this.rows) {
      const most = Math.max(...sizes[row.index]);
      row.most.textContent = `most ${number.format(most)}`;
      const height = most ? HEIGHT : EMPTY;
      row.picture.setAttribute("height", height);
      row.picture.parentElement.classList.toggle("unused", !most);
      const base = svg("line", { x1: 0, x2: width, y1: height - 2.5, y2: height - 2.5, class: "base" });
      const area = svg("path", { d: outline(sizes[row.index], most, width), fill: `url(#lane-${row.lane})` });
      row.picture.replaceChildren(base, ...(most ? [area] : []));
    }
    const marks = ticks(axis.from, axis.to, Math.max(2, width / 90)).map((t) => {
      const x = ((t - axis.from) / (axis.to - axis.from || 1)) * width;
      const anchor = x < 20 ? "start" : x > width - 20 ? "end" : "middle";
      return svg("text", { x, y: 14, "text-anchor": anchor }, clock(t));
    });
    this.axis.replaceChildren(...marks);
  }

  // Shows that the sizes of the queues are not known yet.
  showUnknown() {
    for (const row of this.rows) {
      row.count.textContent = "–";
      row.shown = "";
    }
  }

  // Shows the pods of each queue. `recent`: queue -> pods that entered it just now. Returns the queue sizes as text.
  show(stretch, state, recent, t) {
    const moved = new Set([...recent.values()].flatMap((pods) => [...pods]));
    const newest = stretch.newest(state, CHIPS);
    const sizes = [];
    for (const row of this.rows) {
      const count = state.counts[row.index];
      row.count.textContent = number.format(count);
      if (count) sizes.push(`${count} ${row.lane}`);
      const gone = [...(recent.get(row.index) ?? [])].filter((pod) => state.lane[pod] !== row.index).slice(0, CHIPS);
      const here = newest[row.index];
      const names = here.map((pod) => `${stretch.pods[pod]}${moved.has(pod) ? "!" : ""}`);
      const key = [...names, count, ...gone.map((pod) => stretch.pods[pod])].join(" ");
      if (key === row.shown) continue;
      row.shown = key;
      row.chips.replaceChildren(
        ...here.map((pod) => this.chip(stretch, pod, moved.has(pod) ? "moved" : "", t)),
        ...gone.map((pod) => this.chip(stretch, pod, "passed", t)),
      );
      row.more.textContent = count > here.length ? `and ${number.format(count - here.length)} more` : "";
      if (!count && !gone.length) {
        row.chips.append(el("span", { class: "tiny faint", role: "listitem", text: "no pods" }));
      }
    }
    return sizes;
  }

  chip(stretch, pod, state, t) {
    const key = stretch.pods[pod];
    const text = shortened(stretch.oneNamespace ? key.slice(key.indexOf("/") + 1) : key);
    const title = state === "passed" ? `${key} entered and left at this time` : key;
    const href = this.pods && podAddress(this.pods, key, t);
    const link = el(href ? "a" : "span", { class: `chip ${state}`.trim(), text, title, href });
    return el("span", { role: "listitem" }, link);
  }
}

function made(lane, index) {
  const count = el("strong", { class: "num", "data-count": lane, text: "0" });
  const most = el("span", { class: "tiny faint num" });
  const name = el("span", { class: "row" }, swatch(lane), el("span", { text: lane }));
  const label = el("div", { class: "lane-name", title: LANES[lane] }, name, count, most);
  const picture = svg("svg", { class: "lane-size", height: HEIGHT, "aria-hidden": "true", "data-scrub": "" });
  const chips = el("div", { class: "chips lane-pods", role: "list", "aria-label": `Pods in ${lane}` });
  const more = el("span", { class: "tiny muted nowrap", "data-more": lane });
  return { lane, index, label, count, most, picture, chips, more, shown: "" };
}

// Returns the step path of a queue's size, from left to right.
function outline(sizes, most, width) {
  const y = (size) => (HEIGHT - 3 - ((HEIGHT - 6) * size) / (most || 1)).toFixed(1);
  let line = `M0 ${HEIGHT - 3}`;
  sizes.forEach((size, bin) => {
    if (bin > 0 && size === sizes[bin - 1] && bin < sizes.length - 1) return;
    line += `H${((bin * width) / sizes.length).toFixed(1)}V${y(size)}`;
  });
  return `${line}H${width}V${HEIGHT - 3}Z`;
}
