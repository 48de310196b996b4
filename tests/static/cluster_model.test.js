import assert from "node:assert/strict";
import { test } from "node:test";
import { World } from "../../static/js/map/cluster_model.js";
import { maps } from "./helpers.js";

test("the outcome at a timepoint counts the pods that the run placed", () => {
  const world = new World(picture());
  world.add(after());
  const at = (moment) => {
    world.go(moment);
    return world.outcome();
  };
  assert.deepEqual(at(5), { placed: 0, pending: 1 }, "p0 and p1 were there before the run");
  assert.deepEqual(at(6), { placed: 1, pending: 0 });
  assert.deepEqual(at(5), { placed: 0, pending: 1 });
});

const facts = (ids) => ({
  id: ids,
  key: ids.map((id) => `shop/p${id}`),
  requests: ids.map(() => 0),
  amounts: [{ cpu: 500 }],
  owner: ids.map(() => 0),
  owners: [""],
  priority: ids.map(() => 0),
});
const node = { allocatable: { cpu: 4000, gpu: 2 }, taints: [], unschedulable: 0, ready: 1, labels: { zone: "b" } };

// At 5: p1 and p0 on a, p2 pending. At 6 p2 is placed on a, at 7 p1 is deleted and node b added, at 9 p2 is bound.
const picture = () => ({
  moment: 5,
  end: 9,
  cycle: 2,
  cycles: 3,
  t: 10,
  before: 2,
  nodes: {
    name: ["a"],
    allocatable: [0],
    amounts: [{ cpu: 2000, memory: 1024, pods: 10 }],
    taints: [0],
    taint_sets: [[]],
    unschedulable: [0],
    ready: [1],
    labels: { zone: { values: ["x"], of: [0] } },
  },
  pods: { ...facts([1, 0, 2]), node: [0, 0, -1], state: [3, 3, 1], came: [0, 1, 0] },
});
const after = () => ({
  from: 5,
  to: 9,
  end: 9,
  total: 3,
  places: {
    at: [6, 7, 9],
    pod: [2, 1, 2],
    node: ["a", "", "a"],
    state: [2, 0, 3],
    came: [7, 0, 7],
    was_node: ["", "a", "a"],
    was_state: [1, 3, 2],
    was_came: [0, 0, 7],
  },
  pods: facts([2, 1]),
  nodes: [{ at: 7, name: "b", now: node, was: null }],
  nominated: [],
  cycles: { number: [2, 3], at: [6, 9], pod: ["shop/p2", "shop/p3"] },
  instants: { at: [6, 9], t: [12, 20] },
});
const moves = (world, moment) => world.go(moment).map(({ pod, from, to }) => `${pod.key}: ${from} to ${to}`);
const there = (world) => [...world.on].map(([name, pods]) => [name, pods.map(({ key, state }) => `${key} ${state}`)]);

test("a time is parsed", () => {
  const world = new World(picture());
  assert.deepEqual(there(world), [["a", ["shop/p1 3", "shop/p0 3"]]]);
  assert.deepEqual(world.nodes.get("a").labels, { zone: "x" });
  assert.equal(world.requested("a", "cpu"), 1000);
  assert.equal(world.requested("a", "pods"), 2);
  assert.deepEqual(world.resources(), ["cpu", "memory", "pods"]);
  assert.ok(!world.covers(6));
});

test("the change stream is applied forwards and backwards", () => {
  const world = new World(picture());
  world.add(after());
  const begin = JSON.stringify([there(world), [...world.nodes]]);
  assert.deepEqual(moves(world, 6), ["shop/p2:  to a"]);
  assert.deepEqual(there(world), [["a", ["shop/p1 3", "shop/p0 3", "shop/p2 2"]]]);
  const shape = world.shape;
  world.go(9);
  assert.deepEqual(there(world), [["a", ["shop/p0 3", "shop/p2 3"]]]);
  assert.notEqual(world.shape, shape);
  assert.deepEqual(world.resources(), ["cpu", "memory", "pods", "gpu"]);
  const back = ["shop/p2: a to a", "shop/p1:  to a", "shop/p2: a to "]; // it is bound no more, then not on the node
  assert.deepEqual(moves(world, 5), back);
  assert.equal(JSON.stringify([there(world), [...world.nodes]]), begin);
});

test("chunks are added at both ends", () => {
  const world = new World({
    ...picture(),
    moment: 9,
    t: 20,
    pods: { ...facts([0, 2]), node: [0, 0], state: [3, 3], came: [1, 7] },
  });
  world.add(after());
  assert.deepEqual([world.from, world.to], [5, 9]);
  assert.ok(world.covers(5) && !world.covers(4));
  world.go(6);
  assert.deepEqual(there(world), [["a", ["shop/p1 3", "shop/p0 3", "shop/p2 2"]]]);
  world.add({ ...after(), from: 0, to: 3 }); // does not fit on
  assert.equal(world.from, 5);
});

test("timepoints, cycles and seconds", () => {
  const world = new World(picture());
  assert.equal(world.beforeCycle(2), undefined, "not loaded yet");
  assert.equal(world.cycleAfter(5), 2);
  assert.equal(world.afterTime(30), undefined);
  world.add(after());
  assert.deepEqual([world.beforeCycle(2), world.beforeCycle(3), world.beforeCycle(4)], [5, 8, 9]);
  maps((moment) => world.cycleAfter(moment), [5, 6, 8, 9], [2, 3, 3, 4]);
  maps((t) => world.afterTime(t), [9.9, 10, 12, 19, 20, 99], [undefined, 5, 8, 8, 9, 9]);
  maps((moment) => world.timeOf(moment), [5, 6, 8, 9], [10, 12, 12, 20]);
});

test("labels of few nodes are at their rows", () => {
  const { nodes, ...rest } = picture();
  const labels = { disk: { values: ["ssd", "hdd"], of: [1, -1] }, own: { values: ["x"], of: [0], rows: [1] } };
  const two = { name: ["a", "b"], allocatable: [0, 0], taints: [0, 0], unschedulable: [0, 0], ready: [1, 0] };
  const world = new World({ ...rest, nodes: { ...nodes, ...two, labels } });
  assert.deepEqual(world.nodes.get("a").labels, { disk: "hdd" });
  assert.deepEqual(world.nodes.get("b").labels, { own: "x" });
  assert.equal(world.nodes.get("b").ready, false);
});

test("nominated pods are marked on their node until they are placed", () => {
  const world = new World({ ...picture(), nominated: {} });
  world.add({ ...after(), nominated: [{ at: 6, pod: "shop/p2", now: "a", was: "" }] });
  assert.deepEqual(
    world.pending().map(({ key }) => key),
    ["shop/p2"],
  );
  assert.equal(world.ghosts("a").length, 0);
  const moved = world.go(6);
  assert.ok(
    moved.some(({ ghost, to }) => ghost && to === "a"),
    "the node is drawn again",
  );
  assert.equal(world.nominated.get("shop/p2"), "a");
  assert.equal(world.ghosts("a").length, 0, "placed, so no longer nominated");
  world.go(5);
  assert.equal(world.nominated.size, 0);
  const ghostly = new World({ ...picture(), nominated: { "shop/p2": "a" } });
  assert.deepEqual(
    ghostly.ghosts("a").map(({ key }) => key),
    ["shop/p2"],
  );
  assert.deepEqual(ghostly.ghosts("b"), []);
});
