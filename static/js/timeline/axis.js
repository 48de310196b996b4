// @ts-check
// The axis that slider, lanes, track and cursor share: a part of the run's time, or all of it.

const SHORTEST = 1; // seconds that can be seen at once

/**
 * From second `from` to second `to` of a run that has come to second `until`.
 * @typedef {{ from: number, to: number, until: number }} Axis
 */

/** The whole run. @param {number} until @returns {Axis} */
export const whole = (until) => ({ from: 0, to: until, until });

/** @param {Axis} axis */
export const isWhole = ({ from, to, until }) => from <= 0 && to >= until;

/** Where a moment lies: 0 at the left edge, 1 at the right one. @param {Axis} axis @param {number} t */
export const placeOf = ({ from, to }, t) => (t - from) / (to - from || 1);

/** The moment at a place, not beyond the edges. @param {Axis} axis @param {number} place */
export const momentAt = ({ from, to }, place) => from + Math.min(1, Math.max(0, place)) * (to - from);

/**
 * A part that is `factor` times as long, with `t` where it was.
 * @param {Axis} axis
 * @param {number} t
 * @param {number} factor below 1 to see more of less
 */
export function zoomed(axis, t, factor) {
  const length = Math.min(axis.until, Math.max(SHORTEST, (axis.to - axis.from) * factor));
  const from = t - Math.min(1, Math.max(0, placeOf(axis, t))) * length;
  return within(from, length, axis.until);
}

/** The same length of time with `t` in it: as it is if it holds `t`, else turned to it as a page is. @param {Axis} axis @param {number} t */
export function showing(axis, t) {
  if (t >= axis.from && t <= axis.to) return axis;
  const length = axis.to - axis.from;
  return within(t < axis.from ? t - length * 0.9 : t - length * 0.1, length, axis.until);
}

/** The axis once the run has come further: the whole stays the whole. @param {Axis} axis @param {number} until @returns {Axis} */
export const grown = (axis, until) => (isWhole(axis) ? whole(until) : { ...axis, until });

/** @param {number} from @param {number} length @param {number} until @returns {Axis} */
function within(from, length, until) {
  const begin = Math.max(0, Math.min(from, until - length));
  return { from: begin, to: Math.min(until, begin + length), until };
}
