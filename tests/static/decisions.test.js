import assert from "node:assert/strict";
import { test } from "node:test";
import { Decisions } from "../../static/js/map/decisions.js";

const decisions = (since, limit) =>
  Array.from({ length: limit }, (_, at) => ({ cycle: since + at + 1 })).filter(({ cycle }) => cycle <= 12_000);

function finished() {
  const requests = [];
  const source = {
    decisions: async (since, limit) => {
      requests.push(since);
      return { decisions: decisions(since, limit) };
    },
  };
  return { found: new Decisions(source, 12_000, false), requests };
}

const numbers = (found, first, last) => found.between(first, last).map(({ cycle }) => cycle);

test("decisions are loaded a part at a time, each part once", async () => {
  const { found, requests } = finished();
  await Promise.all([found.load(150, 260), found.load(190, 230)]);
  assert.deepEqual(requests, [0, 200]);
  assert.deepEqual(
    numbers(found, 150, 260),
    Array.from({ length: 111 }, (_, at) => 150 + at),
  );
  await found.load(390, 500);
  assert.deepEqual(requests, [0, 200, 400]);
  await found.load(11_990, 12_010);
  assert.deepEqual(numbers(found, 11_999, 12_010), [11_999, 12_000], "not beyond the last one");
});

test("memory is bounded, and what is read stays", async () => {
  const { found } = finished();
  for (let cycle = 1; cycle <= 12_000; cycle += 100) {
    await found.load(cycle, cycle + 99);
    assert.ok(found.known.size <= 5200);
    assert.equal(numbers(found, cycle, cycle + 99).length, Math.min(100, 12_000 - cycle + 1));
  }
});
