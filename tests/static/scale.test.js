import assert from "node:assert/strict";
import { test } from "node:test";
import { marks } from "../../static/js/scale.js";

test("marks are round, in order, within the range and not too many", () => {
  for (const [low, high] of [
    [0, 1],
    [0, 7],
    [0, 467],
    [-56, 467],
    [1, 24],
    [0, 200_000],
    [0, 0.03],
    [-3, -1],
  ]) {
    for (const count of [2, 5, 12]) {
      const found = marks(low, high, count);
      const said = `${low} to ${high} in ${count}: ${found}`;
      assert.ok(found.length >= 1 && found.length <= count * 2 + 1, said);
      assert.ok(
        found.every((value) => value >= low && value <= high),
        said,
      );
      assert.deepEqual(
        found,
        [...new Set(found)].sort((a, b) => a - b),
        said,
      );
      if (low <= 0 && high >= 0) assert.ok(found.includes(0), said);
    }
  }
  assert.deepEqual(marks(0, 467, 5), [0, 100, 200, 300, 400]);
});

test("a range of one number has that mark", () => {
  assert.deepEqual(marks(3, 3, 5), [3]);
  assert.deepEqual(marks(0, 0, 5), [0]);
});
