// @ts-check
// Steps through a run: by cycle, extension point or plugin, in both directions.

/**
 * A step of a cycle, and a position in a run.
 * @typedef {{ point: string, plugin: string, node: string, message: string }} Step
 * @typedef {{ cycle: number, step: number }} Position `cycle`: 1, 2, ...; the number of cycles plus one is the end;
 *   `step`: index of a step in the cycle, -1 for before the first
 */

/** The highest playback speed: "as fast as it runs". More decisions a second cannot be listed one by one. */
export const FASTEST = 2000;
/** Playback speeds in steps per second. Above CALM, verdicts are not fetched during playback. */
export const SPEEDS = [0.5, 1, 2, 5, 10, 30, 50, 100, 500, FASTEST];
export const USUAL_SPEED = 5;
export const CALM = 5;
const IN_A_MINUTE = 60;

/** Return a speed at which a run plays within a minute, at least the default speed. @param {number} cycles */
export const speedFor = (cycles) =>
  SPEEDS.find((speed) => speed >= USUAL_SPEED && speed >= cycles / IN_A_MINUTE) ??
  /** @type {number} */ (SPEEDS.at(-1));

/**
 * Return the index of the next step by `unit` within a cycle, or null beyond its first or last step.
 * @param {Step[]} steps @param {number} at index, -1 for before the first
 * @param {"point" | "plugin"} unit @param {1 | -1} by
 */
export function within(steps, at, unit, by) {
  if (unit === "plugin") {
    const next = at + by;
    return next >= -1 && next < steps.length ? next : null;
  }
  const begins = [
    -1,
    ...steps.map((_, index) => index).filter((index) => steps[index].point !== steps[index - 1]?.point),
  ];
  if (by > 0) return begins.find((index) => index > at) ?? null;
  return begins.findLast((index) => index < at) ?? null;
}

/**
 * Return the position after a step that may leave the cycle.
 * @param {Position} from @param {Step[]} steps of its cycle @param {"cycle" | "point" | "plugin"} unit @param {1 | -1} by
 * @param {number} cycles of the run @returns {Position & { last?: boolean }} `last`: go to the last step of that cycle
 */
export function next({ cycle, step }, steps, unit, by, cycles) {
  if (unit !== "cycle") {
    const inside = within(steps, step, unit, by);
    if (inside !== null) return { cycle, step: inside };
    if (by < 0) return cycle > 1 ? { cycle: cycle - 1, step: -1, last: true } : { cycle, step: -1 };
    return { cycle: Math.min(cycles + 1, cycle + 1), step: -1 };
  }
  if (by < 0 && step >= 0) return { cycle, step: -1 };
  return { cycle: Math.max(1, Math.min(cycles + 1, cycle + by)), step: -1 };
}

/**
 * Return the number of whole steps that are due, and the fraction of the next one.
 * @param {number} owed fraction of a step @param {number} passed milliseconds since the last frame; negative if the
 *   frame began before playback
 * @param {number} speed steps per second @returns {[number, number]}
 */
export function due(owed, passed, speed) {
  const now = owed + (Math.max(0, Math.min(passed, 250)) / 1000) * speed;
  return [Math.floor(now), now - Math.floor(now)];
}

/**
 * Return the cycle that playback reaches: `count` cycles further, or the first stop on the way.
 * @param {number} from @param {number} count @param {1 | -1} by @param {number[]} stops cycles @param {number} cycles of the run
 * @returns {{ cycle: number, stopped: boolean }}
 */
export function played(from, count, by, stops, cycles) {
  const to = Math.max(1, Math.min(cycles + 1, from + by * count));
  const between = stops.filter((stop) => (by > 0 ? stop > from && stop <= to : stop < from && stop >= to));
  if (!between.length) return { cycle: to, stopped: to === (by > 0 ? cycles + 1 : 1) };
  return { cycle: by > 0 ? Math.min(...between) : Math.max(...between), stopped: true };
}

/** Whether a step is the dry run of preemption on one node. @param {Step} step */
export const isCandidate = ({ point, node }) => point === "postfilter" && Boolean(node);

const STAGE_S = 0.1; // a stage of a cycle is shown at least as long

/**
 * Return the steps of a cycle that playback shows one after another, as indexes, with -1 for the whole result at the
 * end. The fewer the speed leaves time for, the fewer they are: all but single Score plugins, or one for each point, and
 * one for the candidates of preemption.
 * @param {Step[]} steps @param {number} speed cycles per second @returns {number[]}
 */
export function stages(steps, speed) {
  const most = Math.floor(1 / speed / STAGE_S) - 1;
  const all = [...steps.keys()].filter((index) => steps[index].point !== "score" || !steps[index].plugin);
  const part = (/** @type {Step | undefined} */ step) => step && (isCandidate(step) ? "candidates" : step.point);
  const ends = all.filter((index, at) => part(steps[index]) !== part(steps[all[at + 1]]));
  const shown = all.length <= most ? all : ends;
  const kept = shown.filter(
    (_, at) => Math.floor((at * most) / shown.length) !== Math.floor(((at + 1) * most) / shown.length),
  );
  return [...(shown.length <= most ? shown : kept), -1];
}

/** Return upstream's name of an extension point, such as "PreFilter". @param {string} point */
export const pointName = (point) => NAMES[point] ?? point;

/** @type {Record<string, string>} */
const NAMES = {
  preenqueue: "PreEnqueue",
  prefilter: "PreFilter",
  filter: "Filter",
  postfilter: "PostFilter",
  prescore: "PreScore",
  score: "Score",
  reserve: "Reserve",
  permit: "Permit",
  prebind: "PreBind",
  bind: "Bind",
};
