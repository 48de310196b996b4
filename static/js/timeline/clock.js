// @ts-check
// The virtual clock: formats of times and durations, axis ticks, playback speed.

/** Format a time: 12.3 s, 2:09.8, 1:02:09. @param {number} t seconds since the run began */
export function clock(t) {
  if (round(t) < 60) return `${round(t)} s`;
  const tenths = Math.round(t * 10);
  const whole = Math.floor(tenths / 10);
  const pad = (/** @type {number} */ value) => String(value).padStart(2, "0");
  const rest = tenths % 10 ? `.${tenths % 10}` : "";
  if (whole < 3600) return `${Math.floor(whole / 60)}:${pad(whole % 60)}${rest}`;
  return `${Math.floor(whole / 3600)}:${pad(Math.floor(whole / 60) % 60)}:${pad(whole % 60)}`;
}

/** Format a duration: 0 s, 1.25 s, 3 min 20 s, 2 h 5 min. @param {number} seconds */
export function span(seconds) {
  if (round(seconds) < 60) return `${round(seconds)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min${whole % 60 ? ` ${whole % 60} s` : ""}`;
  const minutes = Math.round(whole / 60);
  return `${Math.floor(minutes / 60)} h${minutes % 60 ? ` ${minutes % 60} min` : ""}`;
}

/** @param {number} value */
function round(value) {
  return Number(value.toFixed(value < 10 ? 2 : 1));
}

const STEPS = [
  0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200,
  86400,
];

/**
 * Return the ticks of a time axis: round numbers in order, at most about `count`.
 * @param {number} from seconds @param {number} to seconds @param {number} count
 */
export function ticks(from, to, count) {
  const step = STEPS.find((value) => (to - from) / value <= count) ?? Math.ceil((to - from) / count / 86400) * 86400;
  const found = [];
  for (let t = Math.ceil(from / step) * step; t <= to + 1e-9; t += step) found.push(Number(t.toFixed(3)));
  return found;
}

/** Playback speeds in virtual seconds per second. */
export const SPEEDS = [1, 5, 20, 60, 300, 1200, 3600, 14400];

/**
 * Return the lowest speed at which the run plays within a minute, or the highest speed.
 * @param {number} until duration of the run in seconds
 */
export const speedFor = (until) => SPEEDS.find((speed) => speed >= until / 60) ?? /** @type {number} */ (SPEEDS.at(-1));
