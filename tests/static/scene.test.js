import assert from "node:assert/strict";
import { test } from "node:test";
import { BINS, binOf, Scene, tally } from "../../static/js/map/scene.js";

const pod = (key, cpu) => ({ key, requests: { cpu } });
const world = () => ({
  nodes: new Map([
    ["a", { allocatable: { cpu: 1000 } }],
    ["b", { allocatable: { cpu: 3000 } }],
    ["c", { allocatable: {} }],
  ]),
  on: new Map([
    ["a", [pod("x/1", 400), pod("x/2", 600)]],
    ["b", [pod("y/1", 1500)]],
  ]),
  nominated: new Map(),
});
const colouring = { classes: [], of: ({ key }) => (key.startsWith("x") ? 0 : 1) };
const tile = { name: "all", nodes: ["a", "b", "c"] };

test("a node's blocks and their colours", () => {
  const { share, parts, classes } = new Scene(world(), "cpu", colouring).box("a");
  assert.equal(`${share}: ${parts.join(" ")}, ${classes}`, "1: 0,0.4 0.4,1, 0,0");
});

test("a group sums up its nodes", () => {
  const { nodes, pods, share, bins } = new Scene(world(), "cpu", colouring).sum(tile);
  assert.deepEqual([nodes, pods, share], [3, 3, 2500 / 4000]);
  assert.deepEqual(bins, [0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0], "a node without the resource is not counted");
});

test("only changed nodes are computed again", () => {
  const changing = world();
  const scene = new Scene(changing, "cpu", colouring);
  const [a, b] = [scene.box("a"), scene.box("b")];
  scene.sum(tile);
  changing.on.set("a", []);
  scene.forget(["a"]);
  assert.notEqual(scene.box("a"), a);
  assert.equal(scene.box("b"), b);
  const { share, pods, bins } = scene.sum(tile);
  assert.deepEqual([share, pods], [1500 / 4000, 1]);
  assert.deepEqual(bins, [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]);
});

test("usage in tenths", () => {
  assert.deepEqual([0, 0.05, 0.1, 0.3, 0.99, 1, 1.2].map(binOf), [0, 0, 1, 3, 9, 9, BINS - 1]);
});

test("outcome of a step for a group", () => {
  const of = new Map([
    ["a", { kind: "refused", by: 1 }],
    ["b", { kind: "heat", value: 0.5 }],
    ["c", { kind: "unseen" }],
  ]);
  const plugins = [{ name: "A" }, { name: "B" }];
  assert.deepEqual(tally(tile, { plugins, of }), [0, 1, 1]);
  const levels = new Map([
    ["a", { kind: "rung", level: 3 }],
    ["b", { kind: "chosen", level: 0 }],
  ]);
  assert.deepEqual(tally(tile, { plugins: [], of: levels, levels: true }), [1, 0, 0, 1]);
});

test("a pod on a missing node is not counted", () => {
  const { nodes, bins } = new Scene(world(), "cpu", colouring).sum({ name: "z", nodes: ["a", "elsewhere"] });
  assert.equal(nodes, 1);
  assert.deepEqual(bins, [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
});

test("a nominated pod has a block above the others and is not counted", () => {
  const ghost = pod("x/3", 500);
  const nominating = {
    ...world(),
    nominated: new Map([["x/3", "b"]]),
    ghosts: (name) => (name === "b" ? [ghost] : []),
  };
  const { share, parts, pods, ghosts } = new Scene(nominating, "cpu", colouring).box("b");
  assert.deepEqual([share, parts.at(-1), pods.length, ghosts], [0.5, [0.5, 2000 / 3000], 1, [ghost]]);
});
