// @ts-check
// Breakpoints: expressions over a cycle (docs/debugger.md, Find). Defines the ready-made ones and finds the next hit.

/** @typedef {{ name: string, where: string }} Ready */

/** Return a text as a CEL string literal. @param {string} text */
export const quoted = (text) => JSON.stringify(text);

/** Breakpoints that are useful in any run. @type {Ready[]} */
export const ALWAYS = [
  { name: "the next preemption", where: "size(victims) > 0" },
  { name: "the next tie", where: "tied > 1" },
  { name: "the next pod without a feasible node", where: 'result == "unschedulable"' },
  { name: "the next narrow win", where: "margin <= 1 && tied == 1" },
];

/** @param {string} node @returns {Ready[]} */
export const ofNode = (node) => [
  { name: `${node} refuses`, where: `refused_on(${quoted(node)})` },
  { name: `${node} is chosen`, where: `node == ${quoted(node)}` },
];

/** @param {string} pod @returns {Ready[]} */
export const ofPod = (pod) => [
  { name: `${pod} is tried`, where: `pod == ${quoted(pod)}` },
  { name: `${pod} is evicted`, where: `${quoted(pod)} in victims` },
];

/** @param {string} plugin @returns {Ready[]} */
export const ofPlugin = (plugin) => [{ name: `${plugin} refuses`, where: `refused_by(${quoted(plugin)})` }];

/** @param {string} reason @returns {Ready[]} */
export const ofReason = (reason) => [{ name: reason, where: `reason(${quoted(reason)})` }];

/** Return an unused name: "a tie", "a tie (2)". @param {string} name @param {string[]} taken */
export function unused(name, taken) {
  const whole = name.slice(0, 190);
  for (let number = 1; ; number += 1) {
    const tried = number > 1 ? `${whole} (${number})` : whole;
    if (!taken.includes(tried)) return tried;
  }
}

/**
 * Return where playback stops next: the nearest cycle of all /find responses, its second, and the names of its
 * breakpoints.
 * @param {{ name: string, cycle: number | null, t?: number }[]} hits @param {1 | -1} by
 * @returns {{ cycle: number, t?: number, names: string[] } | null}
 */
export function nearest(hits, by) {
  const cycles = hits.flatMap(({ cycle }) => (cycle === null ? [] : [cycle]));
  if (!cycles.length) return null;
  const cycle = by > 0 ? Math.min(...cycles) : Math.max(...cycles);
  const there = hits.filter((hit) => hit.cycle === cycle);
  return { cycle, t: there[0].t, names: there.map(({ name }) => name) };
}
