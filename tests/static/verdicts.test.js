import assert from "node:assert/strict";
import { test } from "node:test";
import { pictured, rowsOf, words } from "../../static/js/map/verdicts.js";
import { maps } from "./helpers.js";

const steps = (...texts) =>
  texts.map((text) => {
    const [point, plugin = "", node = ""] = text.split(" ");
    return { point, plugin, node, message: "" };
  });
const refused = (reason, ...rows) => ({ code: "Unschedulable", reasons: [reason], rows });
// Six nodes: a is tainted, b and c are full, d was left out, e and f fit; f wins.
const cycle = (more = {}) => ({
  names: ["a", "b", "c", "d", "e", "f"],
  nodes: 6,
  rejected: null,
  left_out: { reasons: ["left out"], rows: [[3, 3]] },
  unlooked: [],
  filters: [
    { plugin: "Taints", decisive: [refused("tainted", [0, 0])], also: [] },
    { plugin: "Fit", decisive: [refused("Insufficient cpu", [1, 2])], also: [] },
  ],
  nominated: [],
  feasible: [[4, 5]],
  total: [10, 30],
  scores: null,
  node: "f",
  postfilter: null,
  steps: steps("prefilter Ports", "filter Taints", "filter Fit", "score Least", "score", "reserve", "bind"),
  ...more,
});
const kinds = (picture) =>
  Object.fromEntries(
    [...picture.of].map(([name, { kind, by, now }]) => [
      name,
      kind === "refused" ? `refused ${picture.plugins[by].name} ${now}` : kind,
    ]),
  );

test("rows in ranges", () => {
  const ranges = [
    [0, 2],
    [5, 5],
  ];
  assert.deepEqual([...rowsOf(ranges)], [0, 1, 2, 5]);
});

test("verdicts up to a step are included", () => {
  assert.deepEqual(kinds(pictured(cycle(), 0)), {});
  assert.deepEqual(kinds(pictured(cycle(), 1)), { a: "refused Taints true", d: "refused PreFilter false" });
  const fit = pictured(cycle(), 2);
  assert.deepEqual(kinds(fit), {
    a: "refused Taints false",
    b: "refused Fit true",
    c: "refused Fit true",
    d: "refused PreFilter false",
  });
  maps(({ name, nodes }) => `${name} ${nodes}`, fit.plugins, ["PreFilter 1", "Taints 1", "Fit 2"]);
  assert.equal(words(fit.of.get("b"), fit), "Fit refuses: Insufficient cpu");
});

test("scores are scaled from the lowest to the highest", () => {
  const total = pictured(cycle(), 4);
  assert.deepEqual(total.scored, [10, 30]);
  assert.deepEqual(total.of.get("e"), { kind: "heat", score: 10, value: 0 });
  assert.deepEqual(total.of.get("f"), { kind: "heat", score: 30, value: 1 });
  assert.equal(pictured(cycle(), 3).scored, null, "scores of a plugin that were not requested");
  const least = pictured(cycle({ scores: { plugin: "Least", raw: [0, 0], normalized: [7, 7] } }), 3);
  assert.deepEqual(least.scored, [7, 7]);
  assert.equal(least.of.get("e").value, 1);
});

test("the selected node, at the end and in total", () => {
  for (const at of [6, -1]) {
    const picture = pictured(cycle(), at);
    assert.equal(picture.of.get("f").kind, "chosen");
    assert.equal(picture.of.get("e").kind, "fits");
    assert.equal(picture.of.get("a").kind, "refused");
  }
});

test("nominated pods are counted", () => {
  const full = { row: 4, status: { plugin: "Fit", reasons: ["full by then"] } };
  const done = steps("filter Taints", "filter Fit", "filter");
  const some = cycle({ steps: done, nominated: [full, { row: 1, status: null }], left_out: null, node: "" });
  assert.equal(kinds(pictured(some, 1)).e, undefined);
  const counted = kinds(pictured(some, 2));
  assert.equal(counted.e, "refused Fit true");
  assert.equal(counted.b, undefined);
});

test("preemption: each candidate, then the selected one", () => {
  const candidates = [
    { node: "a", victims: ["x/1"], violations: 0 },
    { node: "b", victims: ["x/2", "x/3"], violations: 1 },
  ];
  const postfilter = { status: null, nominated: "b", rule: "", any_of: [], candidates };
  const done = steps("filter Taints", "postfilter P a", "postfilter P b", "postfilter P");
  const some = cycle({ steps: done, postfilter, node: "", left_out: null });
  assert.deepEqual(kinds(pictured(some, 1)), { a: "candidate" });
  assert.deepEqual(kinds(pictured(some, 2)), { a: "refused Taints false", b: "candidate" });
  assert.deepEqual(kinds(pictured(some, 2, true)), { a: "candidate", b: "candidate" });
  assert.equal(pictured(some, 2).of.get("b").victims.length, 2);
  for (const at of [3, -1]) assert.deepEqual(kinds(pictured(some, at)), { a: "candidate", b: "chosen" });
});

test("a pod rejected for all nodes", () => {
  const rejected = { plugin: "Volumes", code: "Unschedulable", reasons: ["no claim"] };
  const done = steps("prefilter Ports", "prefilter Volumes");
  const some = cycle({ rejected, filters: [], feasible: [], node: "", left_out: null, steps: done });
  assert.deepEqual(kinds(pictured(some, 0)), {});
  for (const at of [1, -1]) assert.equal(pictured(some, at).plugins[0].nodes, 6);
});

test("nodes that were not evaluated; an empty cycle", () => {
  assert.equal(kinds(pictured(cycle({ unlooked: [[5, 5]], node: "e" }), 1)).f, "unseen");
  assert.deepEqual(kinds(pictured(cycle({ steps: [], node: "" }), -1)), {});
});
