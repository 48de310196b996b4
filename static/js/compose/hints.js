// @ts-check
// Which fields may stand at a place of a text, by the indentation of the lines before it.

/**
 * @typedef {{ kinds: Record<string, Record<string, string>>, types: Record<string, { fields: Record<string, string[]> }> }} Schema
 * @typedef {{ text: string, held: string, about: string }} Offer
 */

const KEY = /^(\s*(?:- +)*)([\w.$/-]+):(?:\s|$)/;
const OURS = ["apiVersion", "kind", "metadata", "spec"];
const OPENS = /^[[{]|^[A-Z]/;

/**
 * What may be typed at a place: {word: what stands before the cursor of it, list}.
 * @param {string[]} lines @param {number} line @param {number} column @param {Schema} schema
 * @returns {{ word: string, list: Offer[] }}
 */
export function offers(lines, line, column, schema) {
  const before = lines[line].slice(0, column);
  const word = /[\w.$/-]*$/.exec(before)?.[0] ?? "";
  const value = /^\s*(?:- +)*(apiVersion|kind):\s+[\w./-]*$/.exec(before);
  const { path, own } = pathAt(lines, line, before.length - word.length);
  const kind = kindAt(lines, line, path.length ? own : 0);
  if (value) return { word, list: words(value[1], kind, schema).filter(({ text }) => starts(text, word)) };
  if (/:\s/.test(before.trimStart().replace(/^(- +)+/, ""))) return { word, list: [] };
  const type = typeAt(path, kind, schema);
  const there = siblings(lines, line, before.length - word.length);
  const fields = Object.entries(schema.types[type]?.fields ?? {});
  const list = fields
    .filter(([name]) => starts(name, word) && !there.has(name))
    .map(([name, [held, about]]) => ({ text: name + (OPENS.test(held) ? ":" : ": "), held: spelled(held), about }));
  if (!list.length && !path.length) return { word, list: OURS.filter((name) => starts(name, word)).map(plain) };
  return { word, list };
}

/** @param {string} text @param {string} word */
const starts = (text, word) => text.toLowerCase().startsWith(word.toLowerCase());
/** @param {string} name @returns {Offer} */
const plain = (name) => ({ text: `${name}: `, held: "", about: "" });

/** @param {string} key @param {string} kind @param {Schema} schema @returns {Offer[]} */
function words(key, kind, schema) {
  const found = key === "kind" ? Object.keys(schema.kinds) : Object.keys(schema.kinds[kind] ?? {});
  const all = found.length ? found : [...new Set(Object.values(schema.kinds).flatMap((one) => Object.keys(one)))];
  return all.map((text) => ({ text, held: "", about: "" }));
}

/** A type in words. @param {string} held */
export function spelled(held) {
  if (held.startsWith("[")) return `list of ${held.slice(1, -1)}`;
  if (held.startsWith("{")) return `map to ${held.slice(1, -1)}`;
  return held === "any" ? "" : held;
}

/**
 * The keys that a place stands under, outermost first, and the indentation of its object.
 * @param {string[]} lines @param {number} line @param {number} column of what is typed
 * @returns {{ path: string[], own: number }}
 */
export function pathAt(lines, line, column) {
  /** @type {string[]} */
  const path = [];
  let inner = column;
  for (let at = line - 1; at >= 0 && inner > 0; at -= 1) {
    if (lines[at].startsWith("---")) break;
    const found = KEY.exec(lines[at]);
    if (!found) continue;
    const dashed = found[1].includes("-");
    const indent = found[1].length;
    if (indent < inner) {
      path.unshift(found[2]);
      inner = dashed ? lines[at].search(/\S/) : indent;
      if (dashed && inner > 0) inner += 1; // the list itself may stand right below its key
    }
  }
  const objects = path.lastIndexOf("objects");
  const items = path.lastIndexOf("items");
  const from = path[0] === "spec" && objects === 1 ? 2 : items === 0 ? 1 : 0;
  return { path: path.slice(from), own: from };
}

/** The kind of the object that a line belongs to. @param {string[]} lines @param {number} line @param {number} own */
function kindAt(lines, line, own) {
  const kinds = /^(\s*(?:- +)?)kind:\s*["']?([\w.]+)/;
  for (let at = line; at >= 0; at -= 1) {
    if (own && /^\s*- /.test(lines[at]) && kinds.exec(lines[at])) return kinds.exec(lines[at])?.[2] ?? "";
    const found = kinds.exec(lines[at]);
    if (found && (own || found[1].length === 0) && at <= line) return found[2];
    if (lines[at].startsWith("---") && at < line) break;
  }
  for (let at = line + 1; at < lines.length && !lines[at].startsWith("---"); at += 1) {
    const found = kinds.exec(lines[at]);
    if (found) return found[2];
  }
  return "";
}

/** The type of what stands at a path of a kind. @param {string[]} path @param {string} kind @param {Schema} schema */
function typeAt(path, kind, schema) {
  let type = Object.values(schema.kinds[kind] ?? {})[0] ?? "";
  for (const step of path) {
    while (type.startsWith("[")) type = type.slice(1, -1);
    if (type.startsWith("{")) type = type.slice(1, -1);
    else type = schema.types[type]?.fields[step]?.[0] ?? "";
  }
  while (type.startsWith("[")) type = type.slice(1, -1);
  return type;
}

/** The fields that are there beside. @param {string[]} lines @param {number} line @param {number} column */
function siblings(lines, line, column) {
  const found = new Set();
  for (const way of [-1, 1]) {
    for (let at = line + way; at >= 0 && at < lines.length; at += way) {
      const text = lines[at];
      if (text.startsWith("---")) break;
      const key = KEY.exec(text);
      const indent = key ? key[1].length : text.search(/\S/);
      if (indent < 0) continue;
      if (indent < column) break;
      if (key && indent === column) found.add(key[2]);
      if (key && indent === column && key[1].includes("-") && way < 0) break;
      if (way > 0 && key && key[1].includes("-") && indent <= column) break;
    }
  }
  return found;
}
