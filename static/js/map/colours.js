// @ts-check
// Colours of pod blocks: a few classes, each with a colour, a letter and a name. The colours can be distinguished
// with red-green colour blindness (tests/static/colours.test.js); the letters repeat the information.

/**
 * @typedef {import("./cluster_model.js").Pod} Pod
 * @typedef {{ name: string, colour: string, letter: string }} Class
 * @typedef {{ classes: Class[], of: (pod: Pod) => number }} Colouring `of`: the index of a pod's class
 */

const SETS = {
  light: ["#345a93", "#ce8102", "#2fa26f", "#a2597e", "#6e52d5", "#3d97d4", "#c7090f", "#4f7a30"],
  dark: ["#5880c3", "#f6d525", "#32fba3", "#c68aa0", "#717aff", "#6cf2fe", "#b66753", "#b2a234"],
};
const STEPS = {
  light: ["#9fb6c9", "#f3d27a", "#f0a04b", "#d95f3b", "#8f2d56"],
  dark: ["#5f7788", "#f3d27a", "#f0a04b", "#dd6a45", "#b8467a"],
};
const REST = { light: "#98a2a8", dark: "#6d7a83" };

const ORDER = [3, 0, 1, 2, 4, 6];
/** Colours of plugins that refuse nodes. */
export const REFUSING = { light: ORDER.map((at) => SETS.light[at]), dark: ORDER.map((at) => SETS.dark[at]) };
/** Colours of the levels of ladder.js. */
export const LEVEL_COLOURS = {
  light: ["#00646b", "#ffb000", "#c9a7c7", "#e3e6e1"],
  dark: ["#58dcd3", "#ffbe2e", "#7f5d86", "#242d34"],
};

export const BY = {
  namespace: "namespace",
  owner: "owner",
  priority: "priority",
  age: "age",
  verdict: "result",
};

/** Age classes of pods, oldest first. */
const AGES = ["before the run", "first quarter", "second quarter", "third quarter", "last quarter"];
const OUTCOMES = ["before the run", "placed by the run", "not bound yet", "to be evicted"];

/**
 * Return the colouring of pods.
 * @param {keyof BY} by @param {Iterable<Pod>} pods all known pods @param {"light" | "dark"} theme
 * @param {{ before: number, last: number, victims: Set<string> }} about `before`: pods with a lower `came` existed before the run; `last`: `came` of the newest pod
 * @returns {Colouring}
 */
export function colouring(by, pods, theme, about) {
  if (by === "age") return { classes: stepped(AGES, theme), of: (pod) => ageOf(pod, about) };
  if (by === "verdict") {
    const colours = [REST[theme], SETS[theme][0], SETS[theme][1], SETS[theme][6]];
    const classes = OUTCOMES.map((name, index) => ({ name, colour: colours[index], letter: "·+?×"[index] }));
    return { classes, of: (pod) => outcomeOf(pod, about) };
  }
  if (by === "priority") return byPriority(pods, theme);
  const keyOf = by === "owner" ? ownerOf : namespaceOf;
  return byValue(pods, keyOf, theme, by === "owner" ? "no owner" : "");
}

/** @param {Pod} pod */
const namespaceOf = ({ key }) => key.slice(0, key.indexOf("/"));

/** @param {Pod} pod */
const ownerOf = ({ owner }) => owner.slice(owner.indexOf(" ") + 1);

/** @param {Pod} pod @param {{ before: number, last: number }} about */
function ageOf({ came }, { before, last }) {
  if (came < before) return 0;
  return 1 + Math.min(3, Math.floor(((came - before) / Math.max(1, last - before + 1)) * 4));
}

/** @param {Pod} pod @param {{ before: number, victims: Set<string> }} about */
function outcomeOf({ key, came, state }, { before, victims }) {
  if (victims.has(key)) return 3;
  if (state === 2) return 2;
  return came < before ? 0 : 1;
}

/**
 * Return a class for each of the most frequent values, and one for all others.
 * @param {Iterable<Pod>} pods @param {(pod: Pod) => string} keyOf @param {"light" | "dark"} theme @param {string} none
 * @returns {Colouring}
 */
function byValue(pods, keyOf, theme, none) {
  const groups = [...Map.groupBy(pods, keyOf)];
  const named = groups.sort((a, b) => b[1].length - a[1].length || a[0].localeCompare(b[0]));
  const colours = SETS[theme];
  const shown = named.length > colours.length ? named.slice(0, colours.length - 1) : named;
  const index = new Map(shown.map(([name], place) => [name, place]));
  const names = shown.map(([name]) => name || none);
  const letters = lettersOf(names);
  const classes = names.map((name, place) => ({ name, colour: colours[place], letter: letters[place] }));
  const rest = named.length - shown.length;
  if (rest) classes.push({ name: `${rest} others`, colour: REST[theme], letter: "…" });
  return { classes, of: (pod) => index.get(keyOf(pod)) ?? shown.length };
}

/** @param {Iterable<Pod>} pods @param {"light" | "dark"} theme @returns {Colouring} */
function byPriority(pods, theme) {
  const values = [...new Set([...pods].map(({ priority }) => priority))].sort((a, b) => a - b);
  const steps = STEPS[theme].length;
  // If there are more values than colours, neighbouring values share one.
  const classOf = (/** @type {number} */ place) =>
    values.length <= steps ? place : Math.floor((place * steps) / values.length);
  const names = STEPS[theme].map((_, step) => {
    const mine = values.filter((_value, place) => classOf(place) === step);
    return mine.length > 1 ? `${mine[0]} to ${mine.at(-1)}` : `${mine[0] ?? ""}`;
  });
  const place = new Map(values.map((value, index) => [value, index]));
  const used = Math.min(values.length, steps);
  return { classes: stepped(names.slice(0, used), theme), of: (pod) => classOf(place.get(pod.priority) ?? 0) };
}

/** @param {string[]} names @param {"light" | "dark"} theme */
const stepped = (names, theme) =>
  names.map((name, index) => ({ name, colour: STEPS[theme][index], letter: String(index) }));

/** Return a letter for each name, different from those of earlier names. @param {string[]} names */
export function lettersOf(names) {
  /** @type {Set<string>} */
  const taken = new Set();
  return names.map((name) => {
    const own = [...name.toLowerCase()].filter((letter) => /[a-z0-9]/.test(letter));
    const letter = [...own, ..."abcdefghijklmnopqrstuvwxyz0123456789"].find((one) => !taken.has(one)) ?? "?";
    taken.add(letter);
    return letter;
  });
}

/** Return a readable text colour for a background colour. @param {string} colour */
export function inkOn(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => (Number.parseInt(colour.slice(at, at + 2), 16) / 255) ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? "#0d1215" : "#ffffff";
}

/**
 * Colour ramp for scores, low to high: light to dark in the light theme, reversed in the dark theme. It also works in
 * greyscale.
 */
export const HEAT = {
  light: ["#f3efd6", "#cfe0b0", "#93c9a3", "#56a9a3", "#327f98", "#2a4d7c"],
  dark: ["#22303a", "#28495c", "#2c6a78", "#3f938a", "#86bf86", "#e6e08a"],
};

/** Return the colour of a value from 0 to 1. @param {number} value @param {"light" | "dark"} theme */
export const heatOf = (value, theme) =>
  Math.min(HEAT[theme].length - 1, Math.max(0, Math.floor(value * HEAT[theme].length)));
