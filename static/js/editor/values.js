// @ts-check
// Values of objects, changed without touching what they were; what becomes empty goes.

/** @typedef {(string | number)[]} Path */

/** @param {any} value @param {Path} path @returns {any} undefined where there is nothing */
export function get(value, path) {
  let held = value;
  for (const step of path) {
    if (held === null || typeof held !== "object") return undefined;
    held = held[step];
  }
  return held;
}

/** Nothing that would have to be written. @param {any} value */
export const empty = (value) =>
  value === undefined || value === null || (typeof value === "object" && !Object.keys(value).length);

/**
 * The same with something else at a path; undefined takes it away, with what holds nothing then.
 * @param {any} value @param {Path} path @param {any} now @returns {any}
 */
export function set(value, path, now) {
  if (!path.length) return now;
  const [step, ...rest] = path;
  const list = Array.isArray(value) || (empty(value) && typeof step === "number");
  const held = list ? [...(value ?? [])] : { ...(value ?? {}) };
  const inner = set(held[step], rest, now);
  if (inner === undefined || (now === undefined && empty(inner))) {
    if (list) held.splice(Number(step), 1);
    else delete held[step];
    return Object.keys(held).length ? held : undefined;
  }
  held[step] = inner;
  return held;
}

/** Whether two values are the same, whatever the order of their members. @param {any} a @param {any} b @returns {boolean} */
export function same(a, b) {
  if (a === b) return true;
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [keys, others] = [Object.keys(a), Object.keys(b)];
  return keys.length === others.length && keys.every((key) => key in b && same(a[key], b[key]));
}

/**
 * A name that is not taken: the same one, or with the next number behind it.
 * @param {string} name @param {Iterable<string>} taken
 */
export function unused(name, taken) {
  const there = new Set(taken);
  if (!there.has(name)) return name;
  const found = /^(.*?)-?(\d+)$/.exec(name);
  const [stem, from] = found ? [found[1], Number(found[2])] : [name, 1];
  for (let number = from + 1; ; number += 1) if (!there.has(`${stem}-${number}`)) return `${stem}-${number}`;
}

/** A number where a text is one, else the text; undefined for nothing. @param {string} text */
export function number(text) {
  const bare = text.trim();
  if (!bare) return undefined;
  return /^-?\d{1,15}$/.test(bare) ? Number(bare) : bare;
}

/** Texts between commas or blanks. @param {string} text @returns {string[]} */
export const words = (text) => text.split(/[\s,]+/).filter(Boolean);
