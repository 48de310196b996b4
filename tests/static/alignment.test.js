import assert from "node:assert/strict";
import { test } from "node:test";
import { byCycle, byPod, byTime, difference } from "../../static/js/map/alignment.js";
import { maps } from "./helpers.js";

test("aligned by cycle, the shorter run stays at its end and the step is the same", () => {
  const focus = { cycle: 4, point: "filter", plugin: "NodeName", node: "n1", t: undefined };
  assert.deepEqual(byCycle(focus, 4, 9), { cycle: 4, point: "filter", plugin: "NodeName", node: "n1" });
  assert.equal(byCycle(focus, 4, 2).cycle, 3);
  assert.deepEqual(byCycle({ node: "n1" }, 5, 9), { node: "n1", cycle: 5, bare: true });
});

test("aligned by pod, the other run shows the matching cycle or waits", () => {
  const partners = [3, -4, 1];
  assert.deepEqual(byPod({ cycle: 1 }, 1, 5, partners), { node: undefined, cycle: 3 });
  assert.deepEqual(byPod({ cycle: 2 }, 2, 5, partners), { node: undefined, cycle: 4, bare: true });
  assert.deepEqual(byPod({}, 3, 5, partners), { node: undefined, cycle: 1, bare: true });
  assert.equal(byPod({ cycle: 4 }, 4, 5, partners).cycle, 6);
});

test("aligned by time, the other run shows the same pod at that second or the second itself", () => {
  const cycle = new Map([
    [1, { number: 1, at: 3, pod: "a/x" }],
    [2, { number: 2, at: 5, pod: "a/y" }],
  ]);
  const world = { cycle, timeOf: (at) => at * 10 };
  assert.deepEqual(byTime({ cycle: 7, node: "n" }, 50, "a/y", world), { node: "n", cycle: 2 });
  assert.deepEqual(byTime({ cycle: 7, node: "n" }, 50, "a/x", world), { node: "n", t: 50 });
  assert.deepEqual(byTime({ t: 50 }, 50, "", world), { node: undefined, t: 50 });
  assert.deepEqual(byTime({ cycle: 7 }, 50, "a/y", null), { node: undefined, t: 50 });
});

const world = (...pods) => ({ pods: new Map(pods.map(([key, node, state = 3], id) => [id, { key, node, state }])) });

test("pods differ if they are on another node, or placed in one run only", () => {
  const a = world(["x/same", "n1"], ["x/moved", "n1"], ["x/lost", "n2"], ["x/none", "", 1], ["x/old", "n9", 0]);
  const b = world(["x/moved", "n3"], ["x/same", "n1"], ["x/lost", "", 1], ["x/new", "n3"], ["x/waits", "", 1]);
  const { keys, nodes } = difference(a, b);
  assert.deepEqual([...keys].sort(), ["x/lost", "x/moved", "x/new"]);
  maps(Object.fromEntries, nodes, [{ n1: 1, n2: 1 }, { n3: 2 }]);
  assert.equal(difference(a, a).keys.size, 0);
});
