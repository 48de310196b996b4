import assert from "node:assert/strict";
import { test } from "node:test";
import { due, next, played, pointName, SPEEDS, speedFor, stages, within } from "../../static/js/map/stepper.js";
import { maps } from "./helpers.js";

const steps = ["filter A", "filter B", "score A", "score B", "bind "].map((text) => {
  const [point, plugin] = text.split(" ");
  return { point, plugin, node: "", message: "" };
});

test("within a cycle by plugin and by point", () => {
  maps((at) => within(steps, at, "plugin", 1), [-1, 0, 3], [0, 1, 4]);
  assert.equal(within(steps, 4, "plugin", 1), null);
  assert.equal(within(steps, -1, "plugin", -1), null);
  maps((at) => within(steps, at, "point", 1), [-1, 0, 1, 2, 4], [0, 2, 2, 4, null]);
  maps((at) => within(steps, at, "point", -1), [4, 3, 2, 1, 0, -1], [2, 2, 0, 0, -1, null]);
});

test("forwards and backwards by plugin have the same steps", () => {
  const forth = [];
  let at = { cycle: 1, step: -1 };
  while (at.cycle === 1) {
    forth.push(at.step);
    at = next(at, steps, "plugin", 1, 9);
  }
  assert.deepEqual(at, { cycle: 2, step: -1 });
  assert.deepEqual(forth, [-1, 0, 1, 2, 3, 4]);
  assert.deepEqual(next(at, steps, "plugin", -1, 9), { cycle: 1, step: -1, last: true });
});

test("from cycle to cycle, not beyond the ends", () => {
  assert.deepEqual(next({ cycle: 3, step: 2 }, steps, "cycle", 1, 9), { cycle: 4, step: -1 });
  assert.deepEqual(
    next({ cycle: 3, step: 2 }, steps, "cycle", -1, 9),
    { cycle: 3, step: -1 },
    "first the start of the cycle",
  );
  assert.deepEqual(next({ cycle: 3, step: -1 }, steps, "cycle", -1, 9), { cycle: 2, step: -1 });
  assert.deepEqual(next({ cycle: 1, step: -1 }, steps, "cycle", -1, 9), { cycle: 1, step: -1 });
  assert.deepEqual(next({ cycle: 9, step: -1 }, steps, "cycle", 1, 9), { cycle: 10, step: -1 });
  assert.deepEqual(next({ cycle: 10, step: -1 }, [], "cycle", 1, 9), { cycle: 10, step: -1 });
  assert.deepEqual(next({ cycle: 1, step: -1 }, steps, "point", -1, 9), { cycle: 1, step: -1 });
});

test("the slower the playback, the more stages of a cycle it shows", () => {
  const shown = (speed) =>
    stages(steps, speed).map((at) => (at < 0 ? "result" : `${steps[at].point} ${steps[at].plugin}`));
  const total = [...steps.slice(0, 4), { point: "score", plugin: "", node: "", message: "" }, steps[4]];
  assert.deepEqual(shown(1), ["filter A", "filter B", "bind ", "result"], "no single Score plugins");
  assert.deepEqual(stages(total, 1), [0, 1, 4, 5, -1]);
  assert.deepEqual(stages(total, 2.4), [1, 4, 5, -1], "one for each point");
  assert.deepEqual(stages(total, 5), [5, -1]);
  assert.deepEqual(shown(10), ["result"]);
  assert.deepEqual(stages([], 1), [-1]);
  const evicts = ["a", "b", "c", ""].map((node) => ({ point: "postfilter", plugin: "P", node, message: "" }));
  assert.deepEqual(stages([steps[0], ...evicts], 1), [0, 1, 2, 3, 4, -1], "each dry run");
  assert.deepEqual(stages([steps[0], ...evicts], 2), [0, 3, 4, -1], "all candidates, then the choice");
});

test("steps due after a frame", () => {
  const [count, left] = due(0.5, 100, 10);
  assert.equal(count, 1);
  assert.ok(Math.abs(left - 0.5) < 1e-9);
  assert.deepEqual(due(0, 60_000, 4), [1, 0], "a hidden page does not jump");
  assert.equal(speedFor(10), 5);
  assert.equal(speedFor(1e9), SPEEDS.at(-1));
});

test("playing stops at the first breakpoint in both directions", () => {
  assert.deepEqual(played(5, 10, 1, [], 100), { cycle: 15, stopped: false });
  assert.deepEqual(played(5, 10, 1, [3, 12, 9], 100), { cycle: 9, stopped: true });
  assert.deepEqual(played(20, 15, -1, [3, 12, 9], 100), { cycle: 12, stopped: true });
  assert.deepEqual(played(9, 5, 1, [9], 100), { cycle: 14, stopped: false }, "not at the current cycle");
  assert.deepEqual(played(95, 10, 1, [], 100), { cycle: 101, stopped: true });
  assert.deepEqual(played(3, 10, -1, [], 100), { cycle: 1, stopped: true });
});

test("labels of extension points", () => {
  assert.deepEqual(["prefilter", "other"].map(pointName), ["PreFilter", "other"]);
});
