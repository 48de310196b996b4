// @ts-check
// Text search and line numbers for the search panel.

export const MOST = 10_000; // maximum number of matches

/** @typedef {{ line: number, from: number, to: number }} Match columns, from 0 */

/** Return a case-insensitive pattern for the words. @param {string} words @returns {RegExp} */
export const pattern = (words) => new RegExp(words.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "giu");

/** Return all matches in order, at most MOST. @param {string[]} lines @param {string} words @returns {Match[]} */
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

/**
 * Return the index of the first match at or after a position, the first match if there is none, or -1 without
 * matches.
 * @param {Match[]} found @param {{ line: number, ch: number }} place
 */
export function from(found, { line, ch }) {
  if (!found.length) return -1;
  return Math.max(
    0,
    found.findIndex((one) => one.line > line || (one.line === line && one.from >= ch)),
  );
}

/**
 * Parse a line number. Return the line, counted from 0 and limited to the text, or -1.
 * @param {string} text @param {number} many
 */
export function lineOf(text, many) {
  const found = /^\s*:?(\d{1,9})\s*$/.exec(text);
  return found ? Math.min(Math.max(Number(found[1]), 1), many) - 1 : -1;
}

/** Describe the position among the matches. @param {number} at @param {number} many */
export function position(at, many) {
  if (!many) return "nothing found";
  const all = many < MOST ? many.toLocaleString("en") : `${MOST.toLocaleString("en")} or more`;
  return `${(at + 1).toLocaleString("en")} of ${all}`;
}
