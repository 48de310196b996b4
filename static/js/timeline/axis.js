// @ts-check
// The time axis shared by slider, queue rows, event track and cursor: all of the run's time or a part of it.

const SHORTEST = 1; // shortest visible duration in seconds

/**
 * A range of virtual time in seconds, of a run that has reached `until`.
 * @typedef {{ from: number, to: number, until: number }} Axis
 */

/** Return the axis of the whole run. @param {number} until @returns {Axis} */
export const whole = (until) => ({ from: 0, to: until, until });

/** @param {Axis} axis */
export const isWhole = ({ from, to, until }) => from <= 0 && to >= until;

/** Return the position of a second: 0 is the left edge, 1 the right edge. @param {Axis} axis @param {number} t */
export const placeOf = ({ from, to }, t) => (t - from) / (to - from || 1);

/** Return the second at a position, limited to the edges. @param {Axis} axis @param {number} place */
export const momentAt = ({ from, to }, place) => from + Math.min(1, Math.max(0, place)) * (to - from);

/**
 * Return a range `factor` times as long, in which `t` keeps its position.
 * @param {Axis} axis @param {number} t @param {number} factor below 1 to zoom in
 */
export function zoomed(axis, t, factor) {
  const length = Math.min(axis.until, Math.max(SHORTEST, (axis.to - axis.from) * factor));
  const from = t - Math.min(1, Math.max(0, placeOf(axis, t))) * length;
  return within(from, length, axis.until);
}

/**
 * Return a range of the same length that contains `t`: the same one, or the next page.
 * @param {Axis} axis @param {number} t
 */
export function showing(axis, t) {
  if (t >= axis.from && t <= axis.to) return axis;
  const length = axis.to - axis.from;
  return within(t < axis.from ? t - length * 0.9 : t - length * 0.1, length, axis.until);
}

/**
 * Return the axis after the run has advanced. The whole range stays whole.
 * @param {Axis} axis @param {number} until @returns {Axis}
 */
export const grown = (axis, until) => (isWhole(axis) ? whole(until) : { ...axis, until });

/** @param {number} from @param {number} length @param {number} until @returns {Axis} */
function within(from, length, until) {
  const begin = Math.max(0, Math.min(from, until - length));
  return { from: begin, to: Math.min(until, begin + length), until };
}
