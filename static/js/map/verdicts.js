// @ts-check
// The verdicts of a cycle's step on each node. `cycle` is the response of /cycles/{K}; its rows are ranges of node
// indexes.

import { LEVELS, levelOf, nearest, rungText } from "./ladder.js";
import { isCandidate } from "./stepper.js";

/**
 * @typedef {{ point: string, plugin: string, node: string, message: string }} Step
 * @typedef {{ kind: "refused" | "unseen" | "heat" | "fits" | "chosen" | "candidate" | "rung", by?: number, now?: boolean,
 *   value?: number, score?: number, why?: string, victims?: string[], level?: number, changes?: number | null,
 *   each?: string }} Verdict `by`: index into `plugins`; `now`: whether this step decided; `value`: a score from 0 to 1;
 *   `level`: of ladder.js
 * @typedef {{ plugins: { name: string, nodes: number, now: boolean }[], of: Map<string, Verdict>,
 *   scored: [number, number] | null, levels?: boolean, near?: number }} Picture `levels`: whether the verdicts have levels;
 *   `near`: the nearest level, if it is that of a few nodes
 */

const FEW = 4; // share of the nodes above which the nearest ones are not marked, one in so many
const REFUSING = ["preenqueue", "prefilter"];
const CHOSEN = ["reserve", "permit", "prebind", "bind"];

/** @param {number[][]} ranges @returns {Generator<number>} */
export function* rowsOf(ranges) {
  for (const [first, last] of ranges) for (let row = first; row <= last; row += 1) yield row;
}

/**
 * Return the verdicts on the nodes after a step, including those of earlier steps.
 * @param {any} cycle with `names` @param {number} at index of the step; -1 for the result of the whole cycle
 * @param {boolean} [together] whether the candidates of preemption until the step are shown, instead of one
 * @returns {Picture}
 */
export function pictured(cycle, at, together = false) {
  /** @type {Map<string, Verdict>} */
  const of = new Map();
  /** @type {Picture} */
  const picture = { plugins: [], of, scored: null };
  const whole = at < 0;
  /** @type {Step | undefined} */
  const step = whole ? outcome(cycle) : cycle.steps[at];
  if (!step) return picture;
  /** @type {Step[]} */
  const done = whole ? cycle.steps : cycle.steps.slice(0, at + 1);
  if (cycle.rejected && REFUSING.includes(step.point) && step.plugin === cycle.rejected.plugin) {
    add(picture, cycle, [[0, cycle.nodes - 1]], cycle.rejected, true);
    return picture;
  }
  if (cycle.left_out && done.some(({ point, plugin }) => point !== "prefilter" || !plugin))
    add(picture, cycle, cycle.left_out.rows, { ...cycle.left_out, plugin: "PreFilter" }, step.point === "prefilter");
  for (const row of rowsOf(cycle.unlooked)) of.set(cycle.names[row], { kind: "unseen" });
  filters(picture, cycle, done, step);
  const dry = together ? done.filter(isCandidate).map(({ node }) => node) : [step.node];
  if (step.point === "postfilter") preempting(picture, cycle, isCandidate(step) ? dry : null);
  if (step.point === "score") scoring(picture, cycle, step);
  if (["prescore", "score", ...CHOSEN].includes(step.point))
    for (const row of rowsOf(cycle.feasible)) if (!of.has(cycle.names[row])) of.set(cycle.names[row], { kind: "fits" });
  if (CHOSEN.includes(step.point)) of.set(cycle.node, { ...of.get(cycle.node), kind: "chosen" });
  return picture;
}

/**
 * Return a step that stands for the result of the cycle: binding if the pod got a node, else the last step.
 * @param {any} cycle @returns {Step | undefined}
 */
function outcome({ steps, node, postfilter }) {
  const last = steps.at(-1);
  if (node) return { point: "bind", plugin: "", node, message: "" };
  return postfilter ? { ...last, point: "postfilter", node: "" } : last;
}

/**
 * @param {Picture} picture @param {any} cycle @param {number[][]} ranges
 * @param {{ plugin: string, reasons: string[] }} status @param {boolean} now
 */
function add(picture, cycle, ranges, { plugin: name, reasons }, now) {
  const why = reasons.join("; ");
  let by = picture.plugins.findIndex((known) => known.name === name);
  if (by < 0) by = picture.plugins.push({ name, nodes: 0, now }) - 1;
  for (const row of rowsOf(ranges)) {
    picture.of.set(cycle.names[row], { kind: "refused", by, now, why });
    picture.plugins[by].nodes += 1;
  }
}

/** @param {Picture} picture @param {any} cycle @param {Step[]} done @param {Step} step */
function filters(picture, cycle, done, step) {
  const filtered = new Set(done.filter(({ point }) => point === "filter").map(({ plugin }) => plugin));
  for (const { plugin, decisive } of cycle.filters) {
    if (!filtered.has(plugin)) continue;
    const now = step.point === "filter" && step.plugin === plugin;
    for (const { reasons, rows } of decisive) add(picture, cycle, rows, { plugin, reasons }, now);
  }
  if (!filtered.has("")) return;
  // The check with nominated pods decides last about a node.
  for (const { row, status } of cycle.nominated) {
    if (status) add(picture, cycle, [[row, row]], status, step.point === "filter" && !step.plugin);
    else picture.of.delete(cycle.names[row]);
  }
}

/** @param {Picture} picture @param {any} cycle @param {string[] | null} tried nodes of dry runs; null after the choice */
function preempting({ of }, cycle, tried) {
  for (const { node, victims } of cycle.postfilter?.candidates ?? []) {
    if (tried && !tried.includes(node)) continue;
    const chosen = !tried && node === cycle.postfilter.nominated;
    of.set(node, { kind: chosen ? "chosen" : "candidate", victims, why: `pods to evict: ${victims.length}` });
  }
}

/** @param {Picture} picture @param {any} cycle @param {Step} step */
function scoring(picture, cycle, step) {
  const total = !step.plugin;
  const points = total ? cycle.total : cycle.scores?.plugin === step.plugin ? cycle.scores.normalized : null;
  if (!points?.length) return;
  const [low, high] = [Math.min(...points), Math.max(...points)];
  picture.scored = [low, high];
  for (const [index, row] of [...rowsOf(cycle.feasible)].entries()) {
    const score = points[index];
    picture.of.set(cycle.names[row], { kind: "heat", score, value: high > low ? (score - low) / (high - low) : 1 });
  }
}

/**
 * Return the picture of a whole cycle with the level of each node. Without a ladder, as of a pod that is rejected before
 * any node, return the picture itself.
 * @param {Picture} picture @param {import("./ladder.js").Rung[]} ladder @returns {Picture}
 */
export function laddered(picture, ladder) {
  if (!ladder.length) return picture;
  /** @type {Picture["of"]} */
  const of = new Map();
  for (const { changes, nodes, each } of ladder)
    for (const name of nodes) {
      const verdict = picture.of.get(name);
      const marked = verdict?.kind === "chosen" || verdict?.kind === "candidate";
      const about = { level: levelOf(changes), changes, each };
      of.set(name, marked ? { ...verdict, ...about } : { kind: "rung", ...about });
    }
  const level = Math.min(...ladder.map(({ changes }) => levelOf(changes)));
  const few = level < LEVELS.length - 1 && nearest(ladder).length <= of.size / FEW;
  return { plugins: [], of, scored: null, levels: true, ...(few && { near: level }) };
}

/** Describe a verdict, for tables and tooltips. @param {Verdict | undefined} verdict @param {Picture} picture */
export function words(verdict, { plugins }) {
  if (!verdict) return "";
  const rung = verdict.changes === undefined ? "" : rungText(verdict.changes, verdict.each ?? "");
  const texts = {
    rung,
    refused: `${plugins[verdict.by ?? 0]?.name} refuses: ${verdict.why}`,
    unseen: "not evaluated",
    heat: `${verdict.score?.toLocaleString("en")} points`,
    fits: "fits",
    chosen: "chosen",
    candidate: `candidate: ${verdict.why}`,
  };
  return texts[verdict.kind];
}
