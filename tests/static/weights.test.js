import assert from "node:assert/strict";
import { test } from "node:test";
import { weighed } from "../../static/js/editor/weights.js";

const two = () => ({
  kind: "KubeSchedulerConfiguration",
  profiles: [
    { schedulerName: "default-scheduler", plugins: { score: { enabled: [{ name: "A", weight: 2 }, { name: "B" }] } } },
    { schedulerName: "batch", plugins: { filter: { disabled: [{ name: "C" }] } } },
  ],
});

test("a weight of the profile that was chosen, and of no other", () => {
  const now = weighed(two(), 1, "A", 5, false);
  assert.deepEqual(now.profiles[0], two().profiles[0]);
  assert.deepEqual(now.profiles[1].plugins, {
    filter: { disabled: [{ name: "C" }] },
    score: { enabled: [{ name: "A", weight: 5 }] },
  });
});

test("what is there keeps its place, and what is taken back goes with what held it", () => {
  const { enabled } = weighed(two(), 0, "A", 7, false).profiles[0].plugins.score;
  assert.deepEqual(enabled, [{ name: "A", weight: 7 }, { name: "B" }]);
  const gone = weighed(weighed(two(), 0, "A", undefined, false), 0, "B", undefined, false);
  assert.deepEqual(gone.profiles[0], { schedulerName: "default-scheduler" });
});

test("with none the first one", () => {
  const made = weighed({ kind: "KubeSchedulerConfiguration" }, 0, "A", 3, false);
  assert.deepEqual(made.profiles, [{ plugins: { score: { enabled: [{ name: "A", weight: 3 }] } } }]);
});

test("a name that is there twice is there once", () => {
  const config = { profiles: [{ plugins: { score: { enabled: [{ name: "A" }, { name: "A", weight: 1 }] } } }] };
  assert.deepEqual(weighed(config, 0, "A", 4, false).profiles[0].plugins.score.enabled, [{ name: "A", weight: 4 }]);
});

test("versions that append have the default disabled, and back", () => {
  const now = weighed({}, 0, "A", 4, true);
  assert.deepEqual(now.profiles[0].plugins.score, { enabled: [{ name: "A", weight: 4 }], disabled: [{ name: "A" }] });
  assert.equal(weighed(now, 0, "A", undefined, true), undefined);
});
