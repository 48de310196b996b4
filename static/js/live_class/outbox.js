// @ts-check
// Pending answers: the browser keeps an answer until the server confirms it.

const FIRST = 400;
const LONGEST = 8000;

/**
 * Return how long to wait before the answer is sent again, or null if the server accepted or rejected it.
 * @param {number} status HTTP status, 0 without a response
 * @param {number} tries number of attempts @param {number} dice random number from 0 to 1
 * @returns {number | null} milliseconds
 */
export function again(status, tries, dice) {
  const settled = status >= 200 && status < 500 && status !== 408 && status !== 429;
  return settled ? null : Math.min(LONGEST, FIRST * 2 ** Math.min(tries, 10)) * (0.5 + dice / 2);
}

/** @param {string} code @param {number} step */
export function keyOf(code, step) {
  return `kubesched.room.${code}.${step}`;
}
