import assert from "node:assert/strict";
import test from "node:test";
import { DELETING, GATED, PENDING, World } from "../../static/js/map/cluster_model.js";
import { applyChanges } from "../../static/js/map/live_changes.js";

const columns = (...keys) => ({
  id: keys.map((_, row) => row),
  key: keys,
  requests: keys.map(() => 0),
  amounts: [{ cpu: 500 }],
  owner: keys.map(() => 0),
  owners: [""],
  priority: keys.map(() => 0),
  node: keys.map(() => -1),
  state: keys.map(() => 1),
  came: keys.map((_, row) => row),
});

function cluster() {
  const pods = columns("a/one", "a/two", "a/three");
  Object.assign(pods, { node: [0, -1, -1], state: [3, 1, 1] });
  const nodes = {
    name: ["n1", "n2"],
    allocatable: [0, 0],
    amounts: [{ cpu: 4000 }],
    taints: [0, 0],
    taint_sets: [[]],
    unschedulable: [0, 0],
    ready: [1, 1],
    labels: {},
  };
  return new World({ moment: 0, end: 0, cycles: 0, before: 4, t: 0, nodes, pods, nominated: {} });
}

const nothing = {
  added: { pods: columns(), on: [] },
  gone: [],
  nodes: {},
  nominated: {},
  gated: {},
  deleting: [],
  ready: {},
};
const change = (changes) => ({ ...nothing, ...changes });
const on = (world, name) => (world.on.get(name) ?? []).map(({ key }) => key);
const pending = (world) => world.pending().map(({ key }) => key);

test("a bound pod moves to its node", () => {
  const world = cluster();
  const moved = applyChanges(world, change({ nodes: { "a/two": "n2" } }));
  assert.deepEqual(on(world, "n2"), ["a/two"]);
  assert.deepEqual(pending(world), ["a/three"]);
  assert.deepEqual(
    moved.map(({ pod, from, to }) => [pod.key, from, to]),
    [["a/two", "", "n2"]],
  );
});

test("new pods are pending or bound, deleted pods are gone", () => {
  const world = cluster();
  const pods = { ...columns("a/four", "b/five", "b/closed"), state: [3, 1, 4] };
  applyChanges(world, change({ added: { pods, on: ["n1", "", ""] }, gone: ["a/one"] }));
  assert.deepEqual(on(world, "n1"), ["a/four"]);
  assert.deepEqual(pending(world), ["a/two", "a/three", "b/five"]);
  assert.equal(world.requested("n1", "cpu"), 500);
  assert.equal(world.count(GATED), 1);
  assert.equal(world.pods.size, 5);
});

test("a pod that is created again under its name replaces the old one", () => {
  const world = cluster();
  applyChanges(world, change({ added: { pods: columns("a/one"), on: [""] } }));
  assert.deepEqual(on(world, "n1"), []);
  assert.deepEqual(pending(world), ["a/two", "a/three", "a/one"]);
});

test("nominations appear, and end with their pod", () => {
  const world = cluster();
  applyChanges(world, change({ nominated: { "a/two": "n1" } }));
  assert.deepEqual([...world.nominated], [["a/two", "n1"]]);
  applyChanges(world, change({ gone: ["a/two"] }));
  assert.deepEqual([...world.nominated], []);
});

test("a gate that is removed makes a pod pending, a deletion lasts until the pod is gone", () => {
  const world = cluster();
  const stateOf = (key) => [...world.pods.values()].find((pod) => pod.key === key)?.state;
  applyChanges(world, change({ gated: { "a/two": true }, deleting: ["a/one", "a/three"] }));
  assert.deepEqual(["a/one", "a/two", "a/three"].map(stateOf), [DELETING, GATED, DELETING]);
  assert.deepEqual(on(world, "n1"), ["a/one"]);
  assert.deepEqual(pending(world), []);
  applyChanges(world, change({ gated: { "a/two": false }, nodes: { "a/three": "n2" } }));
  assert.deepEqual(["a/two", "a/three"].map(stateOf), [PENDING, DELETING]);
  assert.deepEqual(on(world, "n2"), ["a/three"]);
  applyChanges(world, change({ gone: ["a/one"] }));
  assert.deepEqual(on(world, "n1"), []);
});

test("a node is not ready by its condition or its taint", () => {
  const world = cluster();
  world.nodes.get("n2").taints = ["node.kubernetes.io/not-ready:NoSchedule"];
  applyChanges(world, change({ ready: { n1: false, n2: true, gone: false } }));
  assert.deepEqual(
    [...world.nodes.values()].map(({ ready }) => ready),
    [false, false],
  );
  applyChanges(world, change({ ready: { n1: true } }));
  assert.equal(world.nodes.get("n1").ready, true);
});

test("the change stream does not grow", () => {
  const world = cluster();
  for (let version = 1; version <= 50; version += 1)
    applyChanges(world, change({ nodes: { "a/two": version % 2 ? "n1" : "n2" } }));
  assert.equal(world.tape.length, 0);
  assert.deepEqual(on(world, "n2"), ["a/two"]);
  assert.deepEqual(on(world, "n1"), ["a/one"]);
});
