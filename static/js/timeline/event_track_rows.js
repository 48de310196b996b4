// The event track above the queue rows: a row per category, a mark per event, and the latest event as text.

import { el, svg } from "../dom.js";
import { markShape } from "./drawing.js";
import { brief, clusters, KINDS, latest, wordsOf } from "./event_track.js";

const HEIGHT = 22;
const SIZE = 15; // width of a mark in pixels
const NAMES = {
  scenario: "Steps of the scenario",
  nodes: "Created, deleted and changed nodes",
  evictions: "Evicted pods: by preemption, a taint or a drain",
  nominations: "Pods nominated by preemption",
  warnings: "Failed operations",
};

export class TrackRows {
  // `go`: called with the time of a selected mark.
  constructor(box, go) {
    this.place = box.querySelector(".track-rows");
    this.legend = box.querySelector("[data-legend]");
    this.rows = new Map();
    this.go = go;
    this.t = 0;
  }

  // Draws the marks of each row that has had any. `x`: position of a second in pixels.
  draw(track, x, width) {
    for (const { row: name, marks } of track) {
      if (!marks.length && !this.rows.has(name)) continue;
      const row = this.rows.get(name) ?? this.add(name);
      row.marks = marks;
      const focused = row.picture.contains(document.activeElement);
      const groups = clusters(marks, x, SIZE);
      const place = Math.min(row.place, groups.length - 1);
      row.picture.replaceChildren(
        svg("line", { x1: 0, x2: width, y1: HEIGHT / 2, y2: HEIGHT / 2, class: "base" }),
        ...groups.map((group, index) => this.mark(row, group, index === Math.max(0, place))),
      );
      if (focused) row.picture.querySelector('[tabindex="0"]')?.focus({ preventScroll: true });
    }
    const kinds = new Set([...this.rows.values()].flatMap(({ marks }) => marks.map(({ kind }) => kind)));
    this.legend.replaceChildren(...[...kinds].map(legendOf));
    this.tell(this.t);
  }

  add(name) {
    const picture = svg("svg", { class: "track", height: HEIGHT, role: "group", "aria-label": NAMES[name] });
    picture.dataset.scrub = "";
    const text = el("span", { class: "track-text", "data-status": name });
    const label = el("div", { class: "lane-name", title: NAMES[name] }, el("span", { text: name }));
    const row = { picture, text, marks: [], place: 0 };
    this.rows.set(name, row);
    this.place.append(el("div", { class: "lane mark-row", "data-track": name }, label, picture, text));
    return row;
  }

  mark(row, group, first) {
    const words = wordsOf(group);
    const middle = (group.left + group.right) / 2;
    const wide = group.right - group.left;
    const kind = group.kinds[0][0];
    const text = brief(group.count);
    const width = Math.max(wide + 10, text.length * 6.4 + 9);
    const many = [
      svg("rect", { x: -width / 2, y: -8, width, height: 16, rx: 8, class: "many" }),
      svg("text", { y: 4, "text-anchor": "middle" }, text),
    ];
    const transform = `translate(${middle.toFixed(1)} ${HEIGHT / 2})`;
    const mark = svg(
      "g",
      { class: `mark mark-${kind}`, role: "button", tabindex: first ? 0 : -1, "aria-label": words, transform },
      svg("title", {}, words),
      ...(group.count === 1 ? [markShape(kind)] : many),
    );
    const choose = () => {
      row.place = [...row.picture.querySelectorAll(".mark")].indexOf(mark);
      this.go(group.t);
    };
    mark.addEventListener("click", choose);
    mark.addEventListener("keydown", (event) => this.key(event, mark, choose));
    mark.addEventListener("pointerenter", () => say(row, words));
    mark.addEventListener("focus", () => say(row, words));
    for (const over of ["pointerleave", "blur"]) mark.addEventListener(over, () => this.tellOf(row));
    return mark;
  }

  // Arrow keys move between marks; Enter and Space go to the time of a mark.
  key(event, mark, choose) {
    const by = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      event.stopPropagation();
      choose();
    } else if (by) {
      event.preventDefault();
      const all = [...mark.parentElement.querySelectorAll(".mark")];
      const next = all[Math.min(all.length - 1, Math.max(0, all.indexOf(mark) + by))];
      mark.setAttribute("tabindex", -1);
      next.setAttribute("tabindex", 0);
      next.focus({ preventScroll: true });
    }
  }

  // Shows for each row the last event until `t`.
  tell(t) {
    this.t = t;
    for (const row of this.rows.values()) this.tellOf(row);
  }

  tellOf(row) {
    const mark = latest(row.marks, this.t);
    say(row, mark ? wordsOf(mark) : "", mark !== null && Math.abs(mark.to - this.t) < 1e-6);
  }
}

function say(row, words, now = false) {
  row.text.textContent = words;
  row.text.title = words;
  row.text.classList.toggle("now", now);
}

function legendOf(kind) {
  const size = { width: 14, height: 14, viewBox: "-7 -7 14 14" };
  const box = svg("svg", { ...size, class: `mark mark-${kind}`, "aria-hidden": "true" }, markShape(kind));
  return el("span", {}, box, KINDS[kind]?.[0] ?? kind);
}
