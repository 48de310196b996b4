// @ts-check
// An answer that is on its way: kept by the browser until the server has said that it counts.

const FIRST = 400;
const LONGEST = 8000;

/**
 * How long to wait before an answer is sent again; null where the server has said yes or no.
 * @param {number} status of the answer, 0 where none came
 * @param {number} tries how often it was sent
 * @param {number} dice 0 to 1
 * @returns {number | null} milliseconds
 */
export function again(status, tries, dice) {
  const settled = status >= 200 && status < 500 && status !== 408 && status !== 429;
  return settled ? null : Math.min(LONGEST, FIRST * 2 ** Math.min(tries, 10)) * (0.5 + dice / 2);
}

/**
 * @param {string} code
 * @param {number} step
 */
export function keyOf(code, step) {
  return `kubesched.room.${code}.${step}`;
}
