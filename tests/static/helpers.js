import assert from "node:assert/strict";

/** Assert the result of a function for each input. */
export const maps = (result, inputs, expected) =>
  assert.deepEqual(
    inputs.map((input) => result(input)),
    expected,
  );

/** Return a function that returns integers below its argument, the same ones in each run. */
export function seeded(seed) {
  let state = seed;
  return (below) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * below);
  };
}
