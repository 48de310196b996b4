// The pods of a run in the order in which they were taken, as SVG (reading/figures.py: timeline): a bar for the score of
// each that has one, and below a row an outcome, so that place and shape tell outcomes apart, not colour alone.
// A column tells its text when it is pointed at and leads to its address. A table on the page holds the same.
import { el, svg } from "./dom.js";
import { marks } from "./scale.js";

const RIGHT = 12;
const TOP = 8;
const AXIS = 40; // numbers and title below
const ROW = 24;
const TALL = 264; // of the picture, where there are scores
const WIDEST = 56; // of a column: few pods do not fill the card
const LETTER = 7; // about the width of a letter
const number = new Intl.NumberFormat("en");

export class Bars {
  constructor(holder) {
    this.picture = svg("svg", { class: "bars", "aria-hidden": "true" });
    this.tip = el("span", { class: "tip", hidden: "" });
    holder.replaceChildren(this.picture, this.tip);
    this.picture.addEventListener("pointermove", (event) => this.point(event));
    this.picture.addEventListener("pointerleave", () => this.point(null));
    this.picture.addEventListener("click", (event) => {
      const column = this.under(event);
      if (column !== null) location.assign(this.figure.address[column]);
    });
    new ResizeObserver(() => this.draw()).observe(holder);
  }

  show(figure) {
    this.figure = figure;
    this.draw();
  }

  draw() {
    const width = this.picture.parentElement.clientWidth;
    if (!this.figure?.pods || !width) return;
    const { rows, scores, x, y } = this.figure;
    const scored = scores.some((score) => score !== null);
    const tall = scored ? TALL - TOP - AXIS - rows.length * ROW : 0;
    const labels = rows.map(({ name }) => name.length + 3);
    this.left = Math.max(52, ...labels.map((letters) => letters * LETTER));
    this.step = Math.min(WIDEST, (width - this.left - RIGHT) / scores.length);
    this.right = this.left + this.step * scores.length;
    this.foot = TOP + tall + rows.length * ROW;
    this.picture.setAttribute("height", this.foot + AXIS);
    this.picture.replaceChildren(
      ...(scored ? this.scale(Math.max(...scores), tall, y) : []),
      ...rows.flatMap((row, index) => this.row(row, TOP + tall + (index + 1) * ROW)),
      ...this.axis(width),
      svg("text", { x: this.left, y: this.foot + 34, class: "title" }, x),
    );
    this.mark = svg("rect", { class: "pointed" });
    this.picture.append(this.mark);
  }

  // The scores from 0 to the highest, with lines to read them by.
  scale(highest, tall, title) {
    const y = (value) => TOP + tall - 6 - (value / (highest || 1)) * (tall - 6);
    const bars = this.figure.scores.map((score, column) => (score === null ? "" : this.box(column, y(score), y(0))));
    return [
      ...marks(0, highest, 3).flatMap((value) => [
        svg("line", { x1: this.left, x2: this.right, y1: y(value), y2: y(value), class: value ? "grid" : "zero" }),
        svg("text", { x: this.left - 6, y: y(value) + 4, "text-anchor": "end" }, number.format(value)),
      ]),
      svg("text", { x: 10, y: TOP + tall / 2, "text-anchor": "middle", class: "title upright" }, title),
      svg("path", { d: bars.join(""), class: "score" }),
    ];
  }

  // The pods of an outcome: a box for each, or as high as its share of the column's.
  row({ name, kind, shares }, foot) {
    const boxes = shares.map((share, column) => (share ? this.box(column, foot - share * (ROW - 7), foot) : ""));
    return [
      svg("line", { x1: this.left, x2: this.right, y1: foot, y2: foot, class: "grid" }),
      svg("text", { x: this.left - 6, y: foot - 6, "text-anchor": "end" }, name),
      svg("path", { d: boxes.join(""), class: `outcome-${kind}` }),
    ];
  }

  axis(width) {
    const { pods, size } = this.figure;
    const found = marks(1, pods, Math.max(1, Math.min(width / 90, pods - 1)));
    return found
      .filter((value) => Number.isInteger(value) && value > 0)
      .map((value) =>
        svg(
          "text",
          { x: this.left + ((value - 0.5) / size) * this.step, y: this.foot + 15, "text-anchor": "middle" },
          number.format(value),
        ),
      );
  }

  // A path, so that all columns of a row are one.
  box(column, top, foot) {
    const gap = this.step > 4 ? 2 : 0;
    const [x, width] = [this.left + column * this.step + gap / 2, this.step - gap];
    const height = Math.max(1, foot - top);
    return `M${x.toFixed(2)} ${(foot - height).toFixed(1)}h${width.toFixed(2)}v${height.toFixed(1)}h${-width.toFixed(2)}z`;
  }

  // The column under the pointer.
  under(event) {
    if (!this.step) return null;
    const column = Math.floor((event.clientX - this.picture.getBoundingClientRect().left - this.left) / this.step);
    return column >= 0 && column < this.figure.address.length ? column : null;
  }

  point(event) {
    const column = event && this.under(event);
    this.tip.hidden = column === null;
    this.picture.classList.toggle("leads", column !== null);
    if (!this.mark) return;
    const [x, width] = column === null ? [0, 0] : [this.left + column * this.step, this.step];
    for (const [key, value] of Object.entries({ x, y: TOP, width, height: width && this.foot - TOP }))
      this.mark.setAttribute(key, value);
    if (column === null) return;
    this.tip.textContent = this.figure.text[column];
    const room = this.picture.clientWidth - this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(0, Math.min(room, x + width / 2 - this.tip.offsetWidth / 2))}px`;
    this.tip.style.top = "0";
  }
}
