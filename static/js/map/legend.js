// Legend below a map: colours, patterns and letters.
import { el, svg } from "../dom.js";
import { number } from "../format.js";
import { HEAT, inkOn } from "./colours.js";
import { LEVELS } from "./ladder.js";
import { LEVEL_PATTERNS, PATTERNS } from "./renderer.js";

// Marks in the upper right corner of nodes (renderer.js): colour, height, meaning.
const MARKS = {
  broken: ["bad", 6, "not ready"],
  cordoned: ["ink", 6, "cordoned"],
  tainted: ["warn", 2, "tainted"],
};

export class Legend {
  constructor(box, view) {
    Object.assign(this, { box, view });
    view.box.addEventListener("recoloured", () => this.show());
  }

  show() {
    const { view, box } = this;
    const { classes } = view.colouring ?? { classes: [] };
    const { plugins, scored, of, levels } = view.picture;
    const counts = LEVELS.map((_, level) => levels && [...of.values()].filter((one) => one.level === level).length);
    const kinds = new Set([...of.values()].map(({ kind }) => kind));
    const marks = marksOf(view.world);
    const key = `${view.painter.theme} ${view.by.colour} ${classes.map(({ name }) => name)} ${plugins.map(({ name, nodes }) => name + nodes)} ${scored} ${counts} ${[...kinds]} ${marks} ${view.differing.keys.size > 0} ${view.names?.suffix} ${view.world?.nominated.size}`;
    if (box.dataset.key === key) return;
    box.dataset.key = key;
    const named = classes.map(({ name, colour, letter }) => el("span", {}, swatch(colour, letter), name));
    const rungs = LEVELS.map(
      ({ name }, level) =>
        counts[level] > 0 && el("span", {}, this.level(level), `${name}: ${number.format(counts[level])}`),
    );
    const refused = plugins.map(
      ({ name, nodes }, index) => nodes && el("span", {}, this.hatch(index), `${name} refuses ${number.format(nodes)}`),
    );
    const colours = HEAT[view.painter.theme].map((colour) => swatch(colour));
    const range = scored?.map((points) => number.format(points)).join(" to ");
    const ramp = scored && el("span", {}, ...colours, `${range} points`);
    const fits = kinds.has("fits") && el("span", {}, swatch(view.painter.colour["ok-soft"]), "feasible");
    const marked = marks.map((name) => el("span", {}, this.mark(name), MARKS[name][2]));
    const texts = [
      kinds.has("unseen") && "faded: not evaluated",
      kinds.has("chosen") && "★ chosen",
      view.world?.nominated.size > 0 && "hatched, ⇢: nominated, not placed",
      view.names?.suffix && `node names end in ${view.names.suffix}`,
      view.differing.keys.size > 0 && "≠ bar at the left: on another node in the other run",
    ];
    const notes = texts.map((text) => text && el("span", { text }));
    box.replaceChildren(...[...rungs, ...named, ...refused, fits, ramp, ...marked, ...notes].filter(Boolean));
  }

  level(level) {
    const { levels } = this.view.painter;
    return pattern(LEVEL_PATTERNS[level], levels[level], inkOn(levels[level]));
  }

  mark(name) {
    const { colour } = this.view.painter;
    const [fill, height] = MARKS[name];
    const node = swatch(colour.sunken);
    node.append(svg("rect", { x: 8, width: 6, height, fill: colour[fill] }));
    return node;
  }

  hatch(index) {
    const by = index % PATTERNS.length;
    const { colour, refusing } = this.view.painter;
    return pattern(PATTERNS[by], colour.surface, refusing[by]);
  }
}

function marksOf(world) {
  const found = new Set();
  for (const { ready, unschedulable, taints } of world?.nodes.values() ?? [])
    found.add(!ready ? "broken" : unschedulable ? "cordoned" : taints.length && "tainted");
  return Object.keys(MARKS).filter((name) => found.has(name));
}

function swatch(colour, letter = "") {
  const size = { width: 14, height: 14 };
  const view = { ...size, viewBox: "0 0 14 14", "aria-hidden": "true" };
  const ink = { "text-anchor": "middle", class: "on-block", fill: inkOn(colour) };
  const box = svg("rect", { ...size, rx: 2, fill: colour });
  return svg("svg", view, box, letter && svg("text", { x: 7, y: 10.5, ...ink }, letter));
}

function pattern(path, ground, ink) {
  const size = { width: 16, height: 16, viewBox: "0 0 16 16", class: "hatch", "aria-hidden": "true" };
  const tiles = [0, 8].flatMap((x) => [0, 8].map((y) => `translate(${x} ${y})`));
  const lines = path ? tiles.map((transform) => svg("path", { d: path, stroke: ink, transform })) : [];
  return svg("svg", size, svg("rect", { width: 16, height: 16, fill: ground }), ...lines);
}
