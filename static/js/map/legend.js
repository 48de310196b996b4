// Legend below a map: colours, patterns and letters.
import { el, svg } from "../dom.js";
import { HEAT, inkOn } from "./colours.js";
import { PATTERNS } from "./renderer.js";

const number = new Intl.NumberFormat("en");

export class Legend {
  constructor(box, view) {
    Object.assign(this, { box, view });
    view.box.addEventListener("recoloured", () => this.show());
  }

  show() {
    const { view, box } = this;
    const { classes } = view.colouring ?? { classes: [] };
    const { plugins, scored, of } = view.picture;
    const key = `${view.painter.theme} ${view.by.colour} ${classes.map(({ name }) => name)} ${plugins.map(({ name, nodes }) => name + nodes)} ${scored} ${view.differing.keys.size > 0}`;
    if (box.dataset.key === key) return;
    box.dataset.key = key;
    const named = classes.map(({ name, colour, letter }) => el("span", {}, swatch(colour, letter), name));
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
    const kinds = new Set([...of.values()].map(({ kind }) => kind));
    const said = [
      kinds.has("unseen") && "faded: not looked at",
      kinds.has("chosen") && "★ chosen",
      view.differing.keys.size > 0 && "≠ barred at the left: lies elsewhere in the other run",
    ];
    box.replaceChildren(...named, ...refused, ...ramp, ...said.filter(Boolean).map((text) => el("span", { text })));
  }
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
