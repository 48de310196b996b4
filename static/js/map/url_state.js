// @ts-check
// The focus of a page in its URL (docs/debugger.md, Focus). Other query parameters are preserved.

/**
 * @typedef {{ cycle?: number, t?: number, seq?: number, point?: string, plugin?: string, node?: string }} Focus
 *   `point` and `plugin` name a step of the cycle; `seq`: a single change at an instant of a run in virtual time
 */

/** @type {[keyof Focus, "whole" | "number" | "text"][]} */
const KEYS = [
  ["cycle", "whole"],
  ["t", "number"],
  ["seq", "whole"],
  ["point", "text"],
  ["plugin", "text"],
  ["node", "text"],
];

/**
 * Point of a provenance tree -> the extension point that it belongs to (docs/debugger.md, Where a number comes from).
 * @type {Record<string, string>}
 */
export const POINT_OF = {
  raw: "score",
  normalized: "score",
  weighted: "score",
  total: "score",
  preemption: "postfilter",
};

/** @param {string} search query of the URL @returns {Focus} */
export function focusIn(search) {
  const query = new URLSearchParams(search);
  /** @type {any} */
  const found = {};
  for (const [key, kind] of KEYS) {
    const text = query.get(key)?.trim();
    if (!text) continue;
    const value = kind === "text" ? text : Number(text);
    const wrong =
      kind === "whole" ? !Number.isInteger(value) || Number(value) < 0 : Number.isNaN(value) || Number(value) < 0;
    if (kind === "text" || !wrong) found[key] = value;
  }
  return found;
}

/** Return the query with another focus. @param {string} search @param {Focus} focus */
export function withFocus(search, focus) {
  const query = new URLSearchParams(search);
  for (const [key] of KEYS) {
    const value = focus[key];
    if (value === undefined || value === "") query.delete(key);
    else query.set(key, String(typeof value === "number" ? Number(value.toFixed(6)) : value));
  }
  const text = query.toString();
  return text ? `?${text}` : "";
}

/**
 * Return the index of the last step of the point, or of its plugin, in a focus; -1 if it has none.
 * @param {{ point: string, plugin: string }[]} steps @param {Focus} focus
 */
export function lastStepOf(steps, { point: wanted = "", plugin }) {
  const point = POINT_OF[wanted] ?? wanted;
  const named = steps.findLastIndex((step) => step.point === point && step.plugin === plugin);
  return named >= 0 ? named : steps.findLastIndex((step) => step.point === point);
}

/**
 * Return the index of the first step that matches point, plugin and node, else point and plugin, else the point; -1
 * if none does.
 * @param {{ point: string, plugin: string, node: string }[]} steps @param {Focus} focus
 */
export function stepOf(steps, { point: wanted, plugin, node }) {
  if (!wanted) return -1;
  const point = POINT_OF[wanted] ?? wanted;
  const named = steps.findIndex((step) => step.point === point && step.plugin === (plugin ?? "") && step.node === node);
  if (named >= 0) return named;
  const same = steps.findIndex((step) => step.point === point && step.plugin === (plugin ?? ""));
  return same >= 0 ? same : steps.findIndex((step) => step.point === point);
}
