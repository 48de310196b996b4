// @ts-check
// Counts the computations of an experiment's form.

/**
 * What the computations cost, as kubesched_ui/experiments/estimates.py describes it.
 * @typedef {object} Cost
 * @property {[number, number]} whole
 * @property {string} field
 * @property {Record<string, [number, number]>} choices
 * @property {string} word
 * @property {string} adds
 * @property {boolean} most
 */

/**
 * Return how often the cells of a form are computed: configurations (or trials) × releases × seeds × orders. A form
 * without a field has one of it.
 * @param {FormData} form
 */
export function runsOf(form) {
  let configurations = form.getAll("configurations").length;
  if (String(form.get("config") ?? "").trim()) configurations += 1;
  const file = form.get("config_file");
  if (file instanceof File && file.name) configurations += 1;
  if (!form.has("config")) configurations = whole(form, "trials");
  const releases = form.has("config") ? form.getAll("releases").length : 1;
  return configurations * releases * whole(form, "seeds") * whole(form, "orders");
}

/** @param {FormData} form @param {string} name */
function whole(form, name) {
  const number = Number(form.get(name) ?? 1);
  return Number.isInteger(number) && number > 0 ? number : 0;
}

/**
 * Return the cells of a form and their seconds.
 * @param {FormData} form @param {Cost} cost
 */
export function cellsOf(form, cost) {
  const fields = cost.field.split(" ");
  const values = fields.length > 1 ? [fields.map((name) => form.get(name)).join(" ")] : form.getAll(cost.field);
  const chosen = cost.field ? values.map((value) => cost.choices[String(value)] ?? [0, 0]) : [cost.whole];
  const times = runsOf(form);
  const cells = times * chosen.reduce((sum, one) => sum + one[0], 0);
  const seconds = times * chosen.reduce((sum, one) => sum + one[1], 0);
  return { cells, seconds: seconds + (cost.adds ? Math.max(0, Number(form.get(cost.adds)) || 0) : 0) };
}

/**
 * Return the number of cells and how long they take, as text.
 * @param {{cells: number, seconds: number}} found @param {{word: string, most: boolean}} cost
 */
export function sentence({ cells, seconds }, { word, most }) {
  if (!cells) return "Nothing is selected to run.";
  const number = cells === 1 ? `1 ${word}` : `${cells.toLocaleString("en")} ${word}s`;
  return `${number}, ${most ? "at most " : ""}about ${duration(seconds)} on one worker.`;
}

/**
 * Return seconds as text in a suitable unit.
 * @param {number} seconds
 */
export function duration(seconds) {
  if (seconds < 1) return "a second";
  if (seconds < 100) return `${Math.round(seconds)} s`;
  if (seconds < 6000) return `${Math.round(seconds / 60)} minutes`;
  return `${(seconds / 3600).toFixed(1)} hours`;
}
