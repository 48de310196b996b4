// @ts-check
// Where words stand in a text, and which line somebody means.

export const MOST = 10_000; // matches that are looked at

/** @typedef {{ line: number, from: number, to: number }} Match columns, from 0 */

/** What finds the words in a line, whatever the case of their letters. @param {string} words @returns {RegExp} */
export const pattern = (words) => new RegExp(words.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "giu");

/** All matches, the first first, at most MOST. @param {string[]} lines @param {string} words @returns {Match[]} */
export function matches(lines, words) {
  /** @type {Match[]} */
  const found = [];
  if (!words) return found;
  const wanted = pattern(words);
  for (let line = 0; line < lines.length && found.length < MOST; line += 1) {
    for (const match of lines[line].matchAll(wanted)) {
      found.push({ line, from: match.index, to: match.index + match[0].length });
      if (found.length === MOST) break;
    }
  }
  return found;
}

/** The first match that does not begin before a place, from the beginning again behind the last; -1 if there is none.
 * @param {Match[]} found @param {{ line: number, ch: number }} place */
export function from(found, { line, ch }) {
  if (!found.length) return -1;
  return Math.max(
    0,
    found.findIndex((one) => one.line > line || (one.line === line && one.from >= ch)),
  );
}

/** The line that a text names, from 0, of so many; -1 for none. @param {string} text @param {number} many */
export function lineOf(text, many) {
  const found = /^\s*:?(\d{1,9})\s*$/.exec(text);
  return found ? Math.min(Math.max(Number(found[1]), 1), many) - 1 : -1;
}

/** Which of the matches one is at, in words. @param {number} at @param {number} many */
export function told(at, many) {
  if (!many) return "nothing found";
  const all = many < MOST ? many.toLocaleString("en") : `${MOST.toLocaleString("en")} or more`;
  return `${(at + 1).toLocaleString("en")} of ${all}`;
}
