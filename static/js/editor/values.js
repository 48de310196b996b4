// @ts-check
// Immutable edits of objects. Values that become empty are removed.

/** @typedef {(string | number)[]} Path */

/** Return the value at a path. @param {any} value @param {Path} path @returns {any} undefined if there is none */
export function get(value, path) {
  let held = value;
  for (const step of path) {
    if (held === null || typeof held !== "object") return undefined;
    held = held[step];
  }
  return held;
}

/** Whether a value is missing or empty. @param {any} value */
export const empty = (value) =>
  value === undefined || value === null || (typeof value === "object" && !Object.keys(value).length);

/**
 * Return a copy with another value at a path. Undefined removes the value, and its parents if they become empty.
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

/**
 * Whether two values are equal, regardless of the order of members.
 * @param {any} a @param {any} b @returns {boolean}
 */
export function same(a, b) {
  if (a === b) return true;
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [keys, others] = [Object.keys(a), Object.keys(b)];
  return keys.length === others.length && keys.every((key) => key in b && same(a[key], b[key]));
}

/**
 * Return an unused name: the same one, or with the next free number.
 * @param {string} name @param {Iterable<string>} taken
 */
export function unused(name, taken) {
  const there = new Set(taken);
  if (!there.has(name)) return name;
  const found = /^(.*?)-?(\d+)$/.exec(name);
  const [stem, from] = found ? [found[1], Number(found[2])] : [name, 1];
  for (let number = from + 1; ; number += 1) if (!there.has(`${stem}-${number}`)) return `${stem}-${number}`;
}

/** Parse a number. Return other text unchanged, and undefined for empty text. @param {string} text */
export function number(text) {
  const bare = text.trim();
  if (!bare) return undefined;
  return /^-?\d{1,15}$/.test(bare) ? Number(bare) : bare;
}

/** Split text at commas and whitespace. @param {string} text @returns {string[]} */
export const words = (text) => text.split(/[\s,]+/).filter(Boolean);
