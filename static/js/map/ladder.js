// @ts-check
// The ladder on a map: each node by what would have to change for a pod to run there (docs/answers.md).

/** @typedef {{ changes: number | null, nodes: string[], each: string }} Rung `each`: about one node, a verb first */

/** The levels of nodes, the nearest first: their names, also in narrow groups, and their signs. */
export const LEVELS = [
  { name: "takes it", short: "now", sign: "✓" },
  { name: "1 change", short: "1", sign: "1" },
  { name: "2+ changes", short: "2+", sign: "2" },
  { name: "never", short: "never", sign: "×" },
];

/** Return the index of a rung's level. @param {number | null} changes */
export const levelOf = (changes) => (changes === null ? LEVELS.length - 1 : Math.min(2, changes));

/** Return the nodes that need the fewest changes. @param {Rung[]} ladder */
export function nearest(ladder) {
  const first = ladder.find(({ changes }) => changes !== null);
  return first ? ladder.filter(({ changes }) => changes === first.changes).flatMap(({ nodes }) => nodes) : [];
}

/** Describe the changes of a node: "one change: is cordoned". @param {number | null} changes @param {string} each */
export function rungText(changes, each) {
  if (changes === 0) return each;
  const head = changes === null ? "never" : changes === 1 ? "one change" : `${changes} changes`;
  return `${head}: ${each}`;
}
