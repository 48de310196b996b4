// @ts-check
// Aligns two runs: the position of one run for a position of the other, and the pods on different nodes. See
// docs/debugger.md, Compare.

/**
 * @typedef {import("./cluster_model.js").World} World
 * @typedef {import("./url_state.js").Focus & { bare?: boolean }} Focus `bare`: before the cycle, without a
 *   current pod
 * @typedef {{ keys: Set<string>, nodes: [Map<string, number>, Map<string, number>] }} Difference `nodes`: per run, the
 *   number of such pods on each node
 */

const SAME = 1e-6; // seconds

/**
 * Return the other run's focus by cycle number. The shorter run stays at its end.
 * @param {Focus} focus @param {number} here cycle of the leading run @param {number} cycles of the other run
 * @returns {Focus}
 */
export function byCycle(focus, here, cycles) {
  const cycle = Math.min(here, cycles + 1);
  return { ...pointOf(focus), cycle, ...(focus.cycle === undefined && { bare: true }) };
}

/**
 * Return the other run's focus by pod: the cycle of the same attempt of the pod, else before the next matching cycle.
 * @param {Focus} focus @param {number} here @param {number} cycles of the other run
 * @param {number[]} partners per cycle; -K means before the other run's cycle K
 * @returns {Focus}
 */
export function byPod(focus, here, cycles, partners) {
  const partner = partners[here - 1] ?? cycles + 1;
  const bare = partner < 0 || focus.cycle === undefined;
  return { ...pointOf(focus), cycle: Math.min(Math.abs(partner), cycles + 1), ...(bare && { bare }) };
}

/**
 * Return the other run's focus by time: its cycle of the same pod at the same second, else that second.
 * @param {Focus} focus @param {number} second @param {string} pod of the current cycle, "" for none
 * @param {World | null} world of the other run @returns {Focus}
 */
export function byTime(focus, second, pod, world) {
  const cycle =
    pod &&
    [...(world?.cycle.values() ?? [])].find(
      (one) => one.pod === pod && Math.abs(/** @type {World} */ (world).timeOf(one.at) - second) < SAME,
    );
  return cycle ? { ...pointOf(focus), cycle: cycle.number } : { node: focus.node, t: second };
}

/** @param {Focus} focus */
const pointOf = ({ point, plugin, node }) => (point ? { point, plugin, node } : { node });

/** Return the pods on different nodes. @param {World} a @param {World} b @returns {Difference} */
export function difference(a, b) {
  const [one, other] = [placesOf(a), placesOf(b)];
  /** @type {Difference} */
  const found = { keys: new Set(), nodes: [new Map(), new Map()] };
  for (const pod of new Set([...one.keys(), ...other.keys()])) {
    const [left, right] = [one.get(pod) ?? "", other.get(pod) ?? ""];
    if (left === right) continue;
    found.keys.add(pod);
    for (const [side, node] of [left, right].entries())
      if (node) found.nodes[side].set(node, (found.nodes[side].get(node) ?? 0) + 1);
  }
  return found;
}

/** @param {World} world @returns {Map<string, string>} */
function placesOf(world) {
  return new Map([...world.pods.values()].filter(({ state }) => state > 0).map(({ key, node }) => [key, node]));
}
