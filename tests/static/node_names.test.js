import assert from "node:assert/strict";
import { test } from "node:test";
import { commonParts, forms } from "../../static/js/map/node_names.js";

const first = (names) => names.map((name) => forms(name, commonParts(names)).at(-1));

test("the common end is removed from a boundary on", () => {
  const names = ["ip-10-0-1-123.eu-west-1.compute.internal", "ip-10-0-1-124.eu-west-1.compute.internal"];
  assert.deepEqual(commonParts(names), { suffix: ".eu-west-1.compute.internal", prefix: "ip-10-0-1-12" });
  assert.deepEqual(forms(names[0], commonParts(names)), ["ip-10-0-1-123", "…3", "3"]);
});

test("different digits are kept at the end, in the middle and at the start", () => {
  assert.deepEqual(first(["gke-pool-a1b2-wx10", "gke-pool-a1b2-wx11"]), ["0", "1"]);
  assert.deepEqual(first(["a-1-b-pool", "a-2-b-pool"]), ["1", "2"]);
  assert.deepEqual(first(["1x", "2x"]), ["1x", "2x"], "a short common end is kept");
});

test("a name that is the end of another is not shortened", () => {
  assert.equal(commonParts(["a.example.com", ".example.com"]).suffix, "");
  assert.deepEqual(commonParts(["n1"]), { suffix: "", prefix: "" });
  assert.deepEqual(commonParts([]), { suffix: "", prefix: "" });
  assert.deepEqual(forms("n", commonParts(["n", "n-1"])), ["n"]);
});
