// @ts-check
// Completion proposals for a position of a YAML text, from the indentation of the preceding lines.

/**
 * @typedef {Record<string, Record<string, string[]>>} Plugins API version -> plugin -> extension points
 * @typedef {{ kind: string, args: Record<string, Record<string, string>>, releases: Record<string, Plugins> }} Scheduler
 * @typedef {{ kinds: Record<string, Record<string, string>>, types: Record<string, { fields: Record<string, string[]> }>,
 *   scheduler?: Scheduler }} Schema
 * @typedef {{ text: string, held: string, about: string }} Offer
 * @typedef {{ line: number, column: number }} Place of a key
 */

const KEY = /^(\s*(?:- +)*)([\w.$/-]+):(?:\s|$)/;
const VALUE = /^(\s*(?:- +)*)([\w.$/-]+):\s+["']?[\w./*-]*$/;
const OURS = ["apiVersion", "kind", "metadata", "spec"];
const OPENS = /^[[{]|^[A-Z]/;

/**
 * Return what can be typed at a position. `word`: the part before the cursor.
 * @param {string[]} lines @param {number} line @param {number} column @param {Schema} schema
 * @param {string} release of the scheduler; "" for the newest
 * @returns {{ word: string, list: Offer[] }}
 */
export function offers(lines, line, column, schema, release = "") {
  const before = lines[line].slice(0, column);
  const word = /[\w.$/-]*$/.exec(before)?.[0] ?? "";
  const value = VALUE.exec(before);
  const own = value ? value[1].length : before.length - word.length;
  const way = pathAt(lines, line, own);
  const kind = kindAt(lines, line, way.path.length ? way.own : 0);
  const of = { lines, kind, api: apiAt(lines, line), schema, release };
  if (value) return { word, list: values(value[2], way, of).filter(({ text }) => starts(text, word)) };
  if (/:\s/.test(before.trimStart().replace(/^(- +)+/, ""))) return { word, list: [] };
  const there = siblings(lines, { line, column: own });
  const fields = Object.entries(schema.types[typeAt(way, of)]?.fields ?? {});
  const list = fields
    .filter(([name]) => starts(name, word) && !there.has(name))
    .map(([name, [held, about]]) => ({ text: name + (OPENS.test(held) ? ":" : ": "), held: spelled(held), about }));
  if (!list.length && !way.path.length) return { word, list: OURS.filter((name) => starts(name, word)).map(plain) };
  return { word, list };
}

/** @param {string} text @param {string} word */
const starts = (text, word) => text.toLowerCase().startsWith(word.toLowerCase());
/** @param {string} name @returns {Offer} */
const plain = (name) => ({ text: `${name}: `, held: "", about: "" });
/** @param {string} text @returns {Offer} */
const bare = (text) => ({ text, held: "", about: "" });

/** @typedef {{ path: string[], places: Place[], own: number }} Way */
/** @typedef {{ lines: string[], kind: string, api: string, schema: Schema, release: string }} Of */

/** Return the values that can follow a key. @param {string} key @param {Way} way @param {Of} of @returns {Offer[]} */
function values(key, way, of) {
  const { schema, kind } = of;
  const type = typeAt(way, of);
  if (key === "kind") return Object.keys(schema.kinds).map(bare);
  if (key === "apiVersion") return versions(kind, of).map(bare);
  if (key === "name" && (type === "Plugin" || type === "PluginConfig")) return plugins(type, way.path, of).map(bare);
  return schema.types[type]?.fields[key]?.[0] === "boolean" ? ["true", "false"].map(bare) : [];
}

/** @param {string} kind @param {Of} of */
function versions(kind, of) {
  const { schema } = of;
  const found = Object.keys(schema.kinds[kind] ?? {});
  const read = kind === schema.scheduler?.kind ? found.filter((one) => one in releaseOf(of)) : [];
  if (read.length) return read;
  return found.length ? found : [...new Set(Object.values(schema.kinds).flatMap((one) => Object.keys(one)))];
}

/** Return the plugins of the release. @param {Of} of @returns {Plugins} */
function releaseOf({ schema, release }) {
  const releases = schema.scheduler?.releases ?? {};
  const minor = /^\d+\.\d+/.exec(release)?.[0] ?? "";
  return releases[minor] ?? Object.values(releases).at(-1) ?? {};
}

/**
 * Return the plugin names that a list may contain, or that accept arguments.
 * @param {string} type @param {string[]} path @param {Of} of
 */
function plugins(type, path, of) {
  const there = releaseOf(of);
  const all = there[of.api] ?? Object.values(there)[0] ?? {};
  if (type === "PluginConfig") return Object.keys(all).filter((name) => argsOf(name, of));
  const [point, which] = path.slice(-2);
  const names = Object.keys(all).filter((name) => point === "multiPoint" || all[name].includes(point));
  return which === "disabled" ? ['"*"', ...names] : names;
}

/** Return the type of a plugin's arguments. @param {string} plugin @param {Of} of */
function argsOf(plugin, { schema, api }) {
  const args = schema.scheduler?.args ?? {};
  return (args[api] ?? Object.values(args)[0])?.[plugin] ?? "";
}

/** Describe a type in words. @param {string} held */
function spelled(held) {
  if (held.startsWith("[")) return `list of ${held.slice(1, -1)}`;
  if (held.startsWith("{")) return `map to ${held.slice(1, -1)}`;
  return held === "any" ? "" : held;
}

/**
 * Return the keys above a position, outermost first, their positions, and the number of leading keys that belong to
 * the list of objects.
 * @param {string[]} lines @param {number} line @param {number} column of what is typed @returns {Way}
 */
export function pathAt(lines, line, column) {
  /** @type {string[]} */
  const path = [];
  /** @type {Place[]} */
  const places = [];
  let inner = column;
  for (let at = line - 1; at >= 0 && inner > 0; at -= 1) {
    if (lines[at].startsWith("---")) break;
    const found = KEY.exec(lines[at]);
    if (!found) continue;
    const dashed = found[1].includes("-");
    const indent = found[1].length;
    if (indent < inner) {
      path.unshift(found[2]);
      places.unshift({ line: at, column: indent });
      inner = dashed ? lines[at].search(/\S/) + 1 : indent; // a list may have the same indentation as its key
    }
  }
  const objects = path.lastIndexOf("objects");
  const items = path.lastIndexOf("items");
  const from = path[0] === "spec" && objects === 1 ? 2 : items === 0 ? 1 : 0;
  return { path: path.slice(from), places: places.slice(from), own: from };
}

/**
 * Return the kind of the object that contains a line.
 * @param {string[]} lines @param {number} line @param {number} own
 */
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

/** Return the apiVersion of the document that contains a line. @param {string[]} lines @param {number} line */
function apiAt(lines, line) {
  const own = lines.findLastIndex((text, at) => at <= line && text.startsWith("---"));
  for (let at = own + 1; at < lines.length && !lines[at].startsWith("---"); at += 1) {
    const found = /^apiVersion:\s*["']?([\w./-]+)/.exec(lines[at]);
    if (found) return found[1];
  }
  return "";
}

/** Return the type at a position. @param {Way} way @param {Of} of */
function typeAt({ path, places }, of) {
  const { kind, api, schema, lines } = of;
  let type = schema.kinds[kind]?.[api] ?? Object.values(schema.kinds[kind] ?? {})[0] ?? "";
  path.forEach((step, at) => {
    while (type.startsWith("[")) type = type.slice(1, -1);
    if (type === "PluginConfig" && step === "args") type = argsOf(siblings(lines, places[at]).get("name") ?? "", of);
    else if (type.startsWith("{")) type = type.slice(1, -1);
    else type = schema.types[type]?.fields[step]?.[0] ?? "";
  });
  while (type.startsWith("[")) type = type.slice(1, -1);
  return type;
}

/** Return the sibling keys of a position with their values. @param {string[]} lines @param {Place} place */
function siblings(lines, { line, column }) {
  /** @type {Map<string, string>} */
  const found = new Map();
  const begins = /^\s*- /.test(lines[line].slice(0, column));
  for (const way of begins ? [1] : [-1, 1]) {
    for (let at = line + way; at >= 0 && at < lines.length; at += way) {
      const text = lines[at];
      if (text.startsWith("---")) break;
      const key = KEY.exec(text);
      const indent = key ? key[1].length : text.search(/\S/);
      if (indent < 0) continue;
      if (indent < column) break;
      const dashed = key?.[1].includes("-") && indent === column;
      if (way > 0 && dashed) break;
      if (key && indent === column) found.set(key[2], /:\s*["']?([\w.*/-]*)/.exec(text)?.[1] ?? "");
      if (dashed) break;
    }
  }
  return found;
}
