import assert from "node:assert/strict";
import { test } from "node:test";
import { focusIn, lastStepOf, stepOf, withFocus } from "../../static/js/map/url_state.js";

test("a selection and its URL are converted both ways", () => {
  for (const focus of [
    {},
    { cycle: 42, point: "filter", plugin: "NodeAffinity", node: "gpu 1&2" },
    { t: 61.25, seq: 7 },
    { t: 0 },
  ])
    assert.deepEqual(focusIn(withFocus("", focus)), focus);
});

test("foreign parameters stay, old ones are removed", () => {
  assert.equal(withFocus("?q=web&cycle=3&point=filter", { t: 5 }), "?q=web&t=5");
  assert.equal(withFocus("?cycle=3", {}), "");
});

test("invalid parameters select nothing", () => {
  assert.deepEqual(focusIn("?cycle=x&t=-1&seq=1.5&point=&plugin=+&node=n"), { node: "n" });
  assert.deepEqual(focusIn("?cycle=-3&t=1e999x"), {});
});

test("the named step", () => {
  const steps = [
    { point: "filter", plugin: "A", node: "" },
    { point: "filter", plugin: "B", node: "" },
    { point: "postfilter", plugin: "P", node: "n1" },
    { point: "postfilter", plugin: "P", node: "" },
    { point: "score", plugin: "B", node: "" },
    { point: "score", plugin: "", node: "" },
  ];
  const at = (point, plugin, node) => stepOf(steps, { point, plugin, node });
  assert.equal(at("filter", "B"), 1);
  assert.equal(at("score", "B"), 4);
  assert.equal(at("score"), 5, "the total");
  assert.equal(at("postfilter", "P", "n1"), 2);
  assert.equal(at("filter", "Gone"), 0, "the first step of the point");
  assert.equal(at(undefined, "B"), -1);
  assert.equal(at("bind"), -1);
  assert.deepEqual([at("weighted", "B"), at("preemption", "P", "n1")], [4, 2], "the number of a provenance tree");
});

test("the last step that a pod page selects", () => {
  const steps = [
    { point: "filter", plugin: "A" },
    { point: "filter", plugin: "B" },
    { point: "score", plugin: "B" },
    { point: "score", plugin: "" },
  ];
  const at = (point, plugin) => lastStepOf(steps, { point, plugin });
  assert.deepEqual([at("filter"), at("filter", "A"), at("filter", "Gone")], [1, 0, 1]);
  assert.deepEqual([at("score"), at("score", "B"), at("total")], [3, 2, 3]);
  assert.deepEqual([at(undefined), at("bind", "A")], [-1, -1]);
});
