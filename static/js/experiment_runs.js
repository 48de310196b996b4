// @ts-check
// Counts the runs of an experiment's form.

/**
 * Return the number of runs of a form: configurations (or trials) × releases × seeds. A form without a field has one of
 * it.
 * @param {FormData} form
 */
export function runsOf(form) {
  let configurations = form.getAll("configurations").length;
  if (String(form.get("config") ?? "").trim()) configurations += 1;
  const file = form.get("config_file");
  if (file instanceof File && file.name) configurations += 1;
  if (!form.has("config")) configurations = Math.max(0, Number(form.get("trials") ?? 1) || 0);
  const releases = form.has("config") ? form.getAll("releases").length : 1;
  const seeds = Number(form.get("seeds"));
  return Number.isInteger(seeds) && seeds > 0 ? configurations * releases * seeds : 0;
}

/**
 * Return the number of runs and how long they take, as text.
 * @param {number} runs @param {number} seconds of one run
 */
export function sentence(runs, seconds) {
  if (!runs) return "Nothing is selected to run.";
  const number = runs === 1 ? "1 run" : `${runs.toLocaleString("en")} runs`;
  return `${number}, about ${duration(runs * seconds)} on one worker.`;
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
