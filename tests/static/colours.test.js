import assert from "node:assert/strict";
import { test } from "node:test";
import { BY, colouring, HEAT, heatOf, inkOn, LEVEL_COLOURS, lettersOf, REFUSING } from "../../static/js/map/colours.js";
import { maps } from "./helpers.js";

const pod = (key, more = {}) => ({ key, owner: "", priority: 0, came: 0, state: 3, ...more });
const about = { before: 2, last: 9, victims: new Set() };
const named = ({ classes, of }, one) => classes[of(one)].name;

test("every class has its own colour and letter, in both themes", () => {
  const pods = Array.from({ length: 40 }, (_, i) =>
    pod(`ns${i % 12}/p${i}`, { owner: `Job j${i % 5}`, priority: i, came: i % 10 }),
  );
  for (const theme of ["light", "dark"])
    for (const by of Object.keys(BY)) {
      const found = colouring(by, pods, theme, about);
      assert.equal(new Set(found.classes.map(({ colour }) => colour)).size, found.classes.length, by);
      assert.equal(new Set(found.classes.map(({ letter }) => letter)).size, found.classes.length, by);
      for (const one of pods) assert.ok(found.classes[found.of(one)], by);
    }
});

test("the most frequent namespaces have a class each, the others share one", () => {
  const pods = Array.from({ length: 10 }, (_, i) => pod(`ns${i}/p`)).concat([pod("big/a"), pod("big/b")]);
  const found = colouring("namespace", pods, "light", about);
  assert.equal(found.classes[0].name, "big");
  assert.equal(found.classes.at(-1).name, "4 others");
  assert.equal(named(found, pod("never-seen/p")), "4 others");
});

test("owners, priorities, ages, outcomes", () => {
  const pods = [pod("a/b"), pod("a/c", { owner: "ReplicaSet web-1" })];
  const owners = colouring("owner", pods, "light", about);
  maps((one) => named(owners, one), pods, ["no owner", "web-1"]);
  const ranked = [-10, 0, 5, 100, 1000, 2000, 3000].map((priority) => pod("a/b", { priority }));
  const priorities = colouring("priority", ranked, "light", about);
  const classes = ranked.map((one) => priorities.of(one));
  assert.deepEqual(classes, [...classes].sort());
  assert.equal(named(priorities, ranked[0]), "-10 to 0");
  const ages = colouring("age", pods, "light", about);
  maps((came) => ages.of(pod("a/b", { came })), [0, 2, 4, 9], [0, 1, 2, 4]);
  const outcomes = colouring("verdict", pods, "light", { ...about, victims: new Set(["a/v"]) });
  const each = [pod("a/b"), pod("a/b", { came: 5 }), pod("a/b", { came: 5, state: 2 }), pod("a/v")];
  maps(outcomes.of, each, [0, 1, 2, 3]);
});

test("letters are taken from the names if possible", () => {
  assert.deepEqual(lettersOf(["shop", "system", "s", "é"]), ["s", "y", "a", "b"]);
});

test("scores cover the whole colour scale", () => {
  maps((value) => heatOf(value, "light"), [0, 0.5, 1], [0, HEAT.light.length / 2, HEAT.light.length - 1]);
});

// Relative luminance of a colour, and the colour with red or green colour blindness (Machado and others, 2009).
const channels = (colour) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255);
const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const MATRICES = {
  protan: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deutan: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
};
const weighted = (row, rgb) => row.reduce((sum, part, index) => sum + part * rgb[index], 0);
const luminance = (colour) => weighted([0.2126, 0.7152, 0.0722], channels(colour).map(linear));

// CIE 1976 L*a*b* of a perceived colour.
function seen(colour, matrix) {
  const rgb = channels(colour).map(linear);
  const [r, g, b] = matrix.map((row) => Math.max(0, weighted(row, rgb)));
  const f = (t) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
  const x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505);
  const y = f(0.2126 * r + 0.7152 * g + 0.0722 * b);
  const z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

test("text on a colour has enough contrast", () => {
  const pods = Array.from({ length: 8 }, (_, i) => pod(`ns${i}/p`));
  for (const theme of ["light", "dark"])
    for (const { colour } of colouring("namespace", pods, theme, about).classes) {
      const [low, high] = [luminance(colour), luminance(inkOn(colour))].sort((a, b) => a - b);
      assert.ok((high + 0.05) / (low + 0.05) >= 4.5, `${theme} ${colour}`);
    }
});

test("score colours are ordered by lightness, so that they differ in greyscale", () => {
  for (const theme of ["light", "dark"]) {
    const grey = HEAT[theme].map(luminance);
    const sorted = [...grey].sort((a, b) => (theme === "light" ? b - a : a - b));
    assert.deepEqual(grey, sorted);
  }
});

test("namespaces, levels and plugins differ with red or green colour blindness", () => {
  const pods = Array.from({ length: 8 }, (_, i) => pod(`ns${i}/p`));
  for (const theme of ["light", "dark"]) {
    const namespaces = colouring("namespace", pods, theme, about).classes.map(({ colour }) => colour);
    for (const set of [namespaces, LEVEL_COLOURS[theme], REFUSING[theme]])
      for (const matrix of Object.values(MATRICES)) {
        const colours = set.map((colour) => seen(colour, matrix));
        for (const [index, one] of colours.entries())
          for (const [at, other] of colours.slice(index + 1).entries())
            assert.ok(
              Math.hypot(...one.map((part, i) => part - other[i])) > 15,
              `${theme} ${set}: ${index}, ${index + 1 + at}`,
            );
      }
  }
});
