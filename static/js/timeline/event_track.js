// @ts-check
// The event track: marks that would overlap are merged and show their number.
import { number } from "../format.js";
import { clock } from "./clock.js";

/** Meaning of each kind of mark, singular and plural. @type {Record<string, [one: string, many: string]>} */
export const KINDS = {
  step: ["step of the scenario", "steps of the scenario"],
  created: ["node came", "nodes came"],
  deleted: ["node went", "nodes went"],
  cordon: ["node cordoned or uncordoned", "nodes cordoned or uncordoned"],
  taint: ["taint changed", "taints changed"],
  allocatable: ["allocatable changed", "changes of allocatable"],
  condition: ["condition changed", "conditions changed"],
  label: ["label changed", "labels changed"],
  changed: ["node changed", "nodes changed"],
  preempted: ["pod preempted", "pods preempted"],
  tainted: ["pod evicted by a taint", "pods evicted by taints"],
  drained: ["pod drained", "pods drained"],
  evicted: ["pod evicted", "pods evicted"],
  nominated: ["pod nominated to a node", "pods nominated to nodes"],
  withdrawn: ["nomination withdrawn", "nominations withdrawn"],
  warning: ["warning", "warnings"],
};

/**
 * Nearby marks of one kind, as the API returns them: `t` of the first, `to` of the last.
 * @typedef {{ kind: string, t: number, to: number, count: number, texts: string[] }} Mark
 */

/**
 * Marks drawn as one, from `left` to `right` in pixels. `kinds`: kind -> number, most frequent first.
 * @typedef {{ left: number, right: number, t: number, to: number, count: number, kinds: [string, number][],
 *   texts: string[] }} Cluster
 */

/**
 * Merge marks that would overlap.
 * @param {Mark[]} marks @param {(t: number) => number} x position of a second in pixels
 * @param {number} size width of a mark in pixels
 * @returns {Cluster[]} from left to right, without overlaps
 */
export function clusters(marks, x, size) {
  /** @type {{ left: number, right: number, marks: Mark[] }[]} */
  const groups = [];
  for (const mark of [...marks].sort((a, b) => a.t - b.t)) {
    const last = groups.at(-1);
    const left = x(mark.t);
    const right = x(mark.to);
    if (last && left - last.right < size) {
      last.right = Math.max(last.right, right);
      last.marks.push(mark);
    } else groups.push({ left, right, marks: [mark] });
  }
  return groups.map(({ left, right, marks: some }) => ({ left, right, ...together(some) }));
}

/** @param {Mark[]} marks */
function together(marks) {
  /** @type {Map<string, number>} */
  const kinds = new Map();
  for (const { kind, count } of marks) kinds.set(kind, (kinds.get(kind) ?? 0) + count);
  return {
    t: marks[0].t,
    to: Math.max(...marks.map(({ to }) => to)),
    count: marks.reduce((sum, { count }) => sum + count, 0),
    kinds: [...kinds].sort((a, b) => b[1] - a[1]),
    texts: marks.flatMap(({ texts }) => texts),
  };
}

/** Return the latest mark until `t`, or null. @param {Mark[]} marks @param {number} t */
export function latest(marks, t) {
  /** @type {Mark | null} */
  let found = null;
  for (const mark of marks) if (mark.t <= t + 1e-9 && (!found || mark.t >= found.t)) found = mark;
  return found;
}

/**
 * Describe marks: the event of a single one, or the counts and the first few events of several.
 * @param {{ t: number, to: number, count: number, texts: string[], kind?: string, kinds?: [string, number][] }} marks
 */
export function wordsOf({ t, to, count, texts, kind, kinds = [[kind ?? "", count]] }) {
  if (count === 1) return `${clock(t)}: ${texts[0]}`;
  const when = to > t && clock(to) !== clock(t) ? `${clock(t)} to ${clock(to)}` : clock(t);
  const counts = kinds.map(([name, some]) => `${number.format(some)} ${KINDS[name]?.[some === 1 ? 0 : 1] ?? name}`);
  const more = count > 3 ? "; …" : "";
  return `${when}: ${counts.join(", ")}: ${texts.slice(0, 3).join("; ")}${more}`;
}

/** Format a count in little space: 87, 1.2k, 31k. @param {number} count */
export function brief(count) {
  if (count < 1000) return String(count);
  return count < 9950 ? `${(count / 1000).toFixed(1)}k` : `${Math.round(count / 1000)}k`;
}
