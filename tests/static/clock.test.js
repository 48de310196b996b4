import assert from "node:assert/strict";
import { test } from "node:test";
import { clock, SPEEDS, span, speedFor, ticks } from "../../static/js/timeline/clock.js";

test("times are formatted like a clock", () => {
  const written = {
    0: "0 s",
    1.256: "1.26 s",
    12.34: "12.3 s",
    60: "1:00",
    129.8: "2:09.8",
    3729: "1:02:09",
    86400: "24:00:00",
  };
  for (const [t, text] of Object.entries(written)) assert.equal(clock(Number(t)), text);
});

test("a time just below a full minute is not formatted with sixty seconds", () => {
  assert.equal(clock(59.97), "1:00");
  assert.equal(clock(119.96), "2:00");
  assert.equal(clock(3599.99), "1:00:00");
});

test("durations are formatted with at most two units", () => {
  const written = {
    0: "0 s",
    0.004: "0 s",
    1.25: "1.25 s",
    59.94: "59.9 s",
    60: "1 min",
    200: "3 min 20 s",
    7500: "2 h 5 min",
    7200: "2 h",
  };
  for (const [seconds, text] of Object.entries(written)) assert.equal(span(Number(seconds)), text);
});

test("a duration just below an hour is formatted as an hour", () => {
  assert.equal(span(3599.7), "1 h");
  assert.equal(span(59.99), "1 min");
});

test("ticks of an axis are round, sorted, within it and few", () => {
  for (const [from, to] of [
    [0, 1],
    [0, 0.07],
    [3, 61],
    [0, 600],
    [100, 7 * 86400],
    [0, 40 * 86400],
  ]) {
    for (const count of [2, 5, 12]) {
      const found = ticks(from, to, count);
      assert.ok(found.length <= count + 1, `${from} to ${to}: ${found}`);
      assert.ok(found.length >= 1, `${from} to ${to}: ${found}`);
      assert.ok(found.every((t) => t >= from && t <= to + 1e-9));
      assert.deepEqual(
        found,
        [...new Set(found)].sort((a, b) => a - b),
      );
    }
  }
  assert.deepEqual(ticks(0, 60, 6), [0, 10, 20, 30, 40, 50, 60]);
});

test("the default speed plays a run within a minute if possible", () => {
  for (const until of [1, 60, 61, 3600, 86_400]) assert.ok(until / speedFor(until) <= 60, String(until));
  assert.equal(speedFor(60), 1);
  assert.equal(speedFor(1e9), SPEEDS.at(-1));
});
