// @ts-check
// Marks of an axis of numbers.

/**
 * Round numbers from `low` to `high`, both within their range: about `count` of them, zero among them if it is between.
 * @param {number} low
 * @param {number} high at least low
 * @param {number} count
 */
export function marks(low, high, count) {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999) ?? 10 * power;
  const found = [];
  for (let index = Math.ceil(low / step); index * step <= high; index += 1)
    found.push(Number((index * step).toFixed(9)));
  return found;
}
