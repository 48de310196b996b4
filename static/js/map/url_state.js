// @ts-check
// Where a person looks, as the address holds it (docs/debugger.md, Focus). What is not ours in the address stays.

/**
 * @typedef {{ cycle?: number, t?: number, seq?: number, point?: string, plugin?: string, node?: string }} Focus
 *   `point` and `plugin` name a step of the cycle; `seq`: one move of those at an instant of a run in time
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

/** The point at which the number of a tree is told (docs/debugger.md, Where a number comes from). @type {Record<string, string>} */
const POINT_OF = { raw: "score", normalized: "score", weighted: "score", total: "score", preemption: "postfilter" };

/** @param {string} search the address' query @returns {Focus} */
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

/** The query with another focus. @param {string} search @param {Focus} focus */
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
 * The step that point and plugin name: the first of them, of a point alone the first; -1 if there is none.
 * @param {{ point: string, plugin: string, node: string }[]} steps @param {Focus} focus
 */
export function stepOf(steps, { point: asked, plugin, node }) {
  if (!asked) return -1;
  const point = POINT_OF[asked] ?? asked;
  const named = steps.findIndex((step) => step.point === point && step.plugin === (plugin ?? "") && step.node === node);
  if (named >= 0) return named;
  const same = steps.findIndex((step) => step.point === point && step.plugin === (plugin ?? ""));
  return same >= 0 ? same : steps.findIndex((step) => step.point === point);
}
