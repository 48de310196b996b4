// @ts-check
// Groups nodes that differ only in names and zones: n-1 to n-6 in three zones.
import { get, same, set } from "./values.js";

export const ZONE = "topology.kubernetes.io/zone";
const HOST = "kubernetes.io/hostname";
const NUMBERED = /^(.*?)(\d+)$/;

/**
 * @typedef {{ kind: string, name: string, value: any }} Thing
 * @typedef {{ stem: string, things: number[], values: any[], zones: string[] }} Group `things`: numbers of the nodes
 */

/**
 * Return a node without what distinguishes it from the other nodes of its group.
 * @param {any} value @param {string} stem
 */
function shape(value, stem) {
  const { [ZONE]: _zone, [HOST]: _host, ...labels } = get(value, ["metadata", "labels"]) ?? {};
  return { stem, value: { ...value, metadata: { ...value.metadata, name: "", labels } } };
}

/** Return the name without its trailing number. @param {string} name */
export const stemOf = (name) => NUMBERED.exec(name)?.[1] ?? name;

/** Return the groups of the nodes. @param {Thing[]} things @returns {Group[]} */
export function groups(things) {
  /** @type {(Group & { shape: any })[]} */
  const found = [];
  things.forEach((thing, number) => {
    if (thing.kind !== "Node") return;
    const mine = shape(thing.value, NUMBERED.test(thing.name) ? stemOf(thing.name) : `${thing.name} alone`);
    let group = found.find((one) => same(one.shape, mine));
    if (!group) {
      group = { stem: stemOf(thing.name), things: [], values: [], zones: [], shape: mine };
      found.push(group);
    }
    group.things.push(number);
    group.values.push(thing.value);
    const zone = get(thing.value, ["metadata", "labels", ZONE]);
    if (zone && !group.zones.includes(zone)) group.zones.push(zone);
  });
  return found.map(({ shape: _, ...group }) => group);
}

/** Return a copy of a node with another name and zone. @param {any} model @param {string} name @param {string} zone */
function like(model, name, zone) {
  let value = set(model, ["metadata", "name"], name);
  value = set(value, ["metadata", "labels", ZONE], zone || undefined);
  if (get(model, ["metadata", "labels", HOST])) value = set(value, ["metadata", "labels", HOST], name);
  return value.metadata ? value : { ...value, metadata: { name } };
}

/**
 * Return the changes that resize a group to `count` nodes named `stem`1, `stem`2 ..., distributed over `zones`.
 * Existing nodes keep their names unless the stem changes. `taken`: names of all other nodes.
 * @param {Group} group @param {{ count?: number, stem?: string, zones?: string[] }} wanted @param {string[]} taken
 */
export function resized(group, { count = group.values.length, stem = group.stem, zones }, taken) {
  const used = new Set(taken);
  /** @type {any[]} */
  const changes = [];
  let number = 0;
  const next = () => {
    for (number += 1; used.has(`${stem}${number}`); ) number += 1;
    return `${stem}${number}`;
  };
  const wanted = Math.max(1, count);
  const names = group.values.slice(0, wanted).map((value) => (stem === group.stem ? value.metadata.name : ""));
  for (const name of names) if (name) used.add(name);
  for (let at = 0; at < wanted; at += 1) {
    const before = group.values[at];
    const name = names[at] || (wanted === 1 && stem && !used.has(stem) && !/[-_.]$/.test(stem) ? stem : next());
    used.add(name);
    const inTurn = zones ?? group.zones;
    const own = before && !zones ? get(before, ["metadata", "labels", ZONE]) : inTurn[at % inTurn.length];
    const value = like(before ?? group.values[0], name, own ?? "");
    if (before && !same(before, value)) changes.push({ thing: group.things[at], value });
    if (!before) changes.push({ add: value, after: group.things.at(-1) });
  }
  for (const thing of group.things.slice(wanted)) changes.push({ thing, remove: true });
  return changes;
}

/** Return an unused name prefix: for `n-`, `n-` or `n2-`. @param {string} stem @param {string[]} names */
export function unusedStem(stem, names) {
  const stems = new Set(names.map(stemOf));
  const bare = stem.replace(/\d*-?$/, "") || "n";
  for (let number = 1; ; number += 1) {
    const found = number === 1 ? `${bare}-` : `${bare}${number}-`;
    if (!stems.has(found)) return found;
  }
}

/** Return the changes that add a copy of a group. @param {Group} group @param {string} stem prefix of the new names */
export const copied = (group, stem) =>
  group.values.map((value, at) => ({
    add: like(value, `${stem}${at + 1}`, get(value, ["metadata", "labels", ZONE]) ?? ""),
    after: group.things.at(-1),
  }));

/**
 * Return the changes that apply the same edit to each node of a group.
 * @param {Group} group @param {(value: any) => any} edit
 */
export const edited = (group, edit) => group.things.map((thing, at) => ({ thing, value: edit(group.values[at]) }));

/** Return the title of a group: `n-1 to n-6`. @param {Group} group */
export function title(group) {
  const names = group.values.map((value) => value.metadata?.name ?? "");
  return names.length > 1 ? `${names[0]} to ${names.at(-1)}` : names[0];
}
