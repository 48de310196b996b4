// Bars in a row: draws { series: [{ name, color, x, y, text, address }], stacked, width, range, x, y } as SVG.
// A bar tells its text when it is pointed at and leads to its address. A table on the page holds the same.
import { el, svg } from "./dom.js";
import { marks } from "./scale.js";

const MARGIN = { top: 8, right: 12, bottom: 40 };
const LETTER = 6.6; // about the width of a figure
const number = new Intl.NumberFormat("en");

export class Bars {
  constructor(holder) {
    this.legend = el("p", { class: "legend" });
    this.picture = svg("svg", { class: "bars", "aria-hidden": "true" });
    this.tip = el("span", { class: "tip", hidden: "" });
    holder.replaceChildren(this.legend, this.picture, this.tip);
    this.picture.addEventListener("pointermove", (event) => this.point(event));
    this.picture.addEventListener("pointerleave", () => this.point(null));
    this.picture.addEventListener("click", (event) => {
      const { address } = this.under(event) ?? {};
      if (address) location.assign(address);
    });
    new ResizeObserver(() => this.draw()).observe(holder);
  }

  show(figure) {
    this.figure = figure;
    this.bars = placed(figure);
    const names = figure.series.map(({ name, color }) => el("span", {}, swatch(color), name));
    this.legend.replaceChildren(...names);
    this.draw();
  }

  draw() {
    if (!this.figure) return;
    const { width, height } = this.picture.getBoundingClientRect();
    if (!width || !height) return;
    const low = Math.min(0, ...this.bars.map(({ from }) => from));
    const high = Math.max(0, ...this.bars.map(({ to }) => to)) || 1;
    const values = marks(low, high, Math.max(2, height / 40));
    const left = 26 + Math.max(...values.map((value) => number.format(value).length)) * LETTER;
    const [first, last] = this.figure.range;
    this.x = (value) => left + ((value - first) / (last - first)) * (width - left - MARGIN.right);
    const y = (value) => MARGIN.top + ((high - value) / (high - low)) * (height - MARGIN.top - MARGIN.bottom);
    this.y = y;
    this.picture.replaceChildren(
      ...values.flatMap((value) => [
        svg("line", { x1: left, x2: width - MARGIN.right, y1: y(value), y2: y(value), class: value ? "grid" : "zero" }),
        svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, number.format(value)),
      ]),
      ...marks(Math.ceil(first), Math.floor(last), Math.max(2, width / 90))
        .filter((value) => Number.isInteger(value) && value > 0)
        .map((value) =>
          svg("text", { x: this.x(value), y: height - 24, "text-anchor": "middle" }, number.format(value)),
        ),
      svg("text", { x: (left + width) / 2, y: height - 6, "text-anchor": "middle", class: "title" }, this.figure.x),
      svg("text", { x: 11, y: height / 2, "text-anchor": "middle", class: "title upright" }, this.figure.y),
      ...this.figure.series.map((one, index) => svg("path", { d: this.outline(index), fill: one.color })),
    );
    this.mark = svg("rect", { class: "pointed" });
    this.picture.append(this.mark);
  }

  // One path for all bars of a series: thousands of bars are as quick as one.
  outline(series) {
    let path = "";
    for (const bar of this.bars) if (bar.series === series) path += this.box(bar).path;
    return path;
  }

  box({ at, from, to }) {
    const half = this.figure.width / 2;
    const [x, y] = [this.x(at - half), this.y(to)];
    const [width, height] = [Math.max(1, this.x(at + half) - x), Math.max(to > from ? 1 : 0, this.y(from) - y)];
    return {
      x,
      y,
      width,
      height,
      path: `M${x.toFixed(1)} ${y.toFixed(1)}h${width.toFixed(1)}v${height.toFixed(1)}h${-width.toFixed(1)}z`,
    };
  }

  // The bar in the column under the pointer; of stacked ones the one that is hit.
  under(event) {
    if (!this.x) return null;
    const place = this.picture.getBoundingClientRect();
    const [px, py] = [event.clientX - place.left, event.clientY - place.top];
    const column = this.bars.filter((bar) => {
      const { x, width } = this.box(bar);
      return px >= x - 1 && px <= x + width + 1;
    });
    return column.find((bar) => py >= this.y(bar.to) && py <= this.y(bar.from)) ?? column[0] ?? null;
  }

  point(event) {
    const bar = event && this.under(event);
    this.tip.hidden = !bar;
    this.picture.classList.toggle("leads", Boolean(bar?.address));
    if (!this.mark) return;
    if (!bar) {
      this.mark.setAttribute("height", 0);
      return;
    }
    const { x, y, width, height } = this.box(bar);
    for (const [key, value] of Object.entries({ x, y, width, height })) this.mark.setAttribute(key, value);
    this.tip.textContent = bar.text;
    const room = this.picture.clientWidth - this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(0, Math.min(room, x + width / 2 - this.tip.offsetWidth / 2))}px`;
    this.tip.style.top = `${this.picture.offsetTop + Math.max(0, y - 30)}px`;
  }
}

// Where each bar stands: { series, at, from, to, text, address }, stacked ones on those before them.
function placed({ series, stacked }) {
  const tops = new Map();
  return series.flatMap(({ x, y, text, address }, index) =>
    x.map((at, place) => {
      const base = stacked ? (tops.get(at) ?? 0) : 0;
      const top = base + y[place];
      if (stacked) tops.set(at, top);
      const [from, to] = [Math.min(base, top), Math.max(base, top)];
      return { series: index, at, from, to, text: text[place], address: address?.[place] };
    }),
  );
}

function swatch(color) {
  const box = svg("svg", { width: 12, height: 12, "aria-hidden": "true" });
  box.append(svg("rect", { width: 12, height: 12, rx: 2, fill: color }));
  return box;
}
