import assert from "node:assert/strict";
import { test } from "node:test";
import { ALWAYS, nearest, ofNode, ofPlugin, ofPod, ofReason, quoted, unused } from "../../static/js/map/breakpoints.js";

test("a click creates a valid expression for any name", () => {
  assert.equal(quoted('a "b" \\ c'), '"a \\"b\\" \\\\ c"');
  assert.deepEqual(ofNode('n"1')[0], { name: 'n"1 refuses', where: 'refused_on("n\\"1")' });
  assert.equal(ofPod("shop/web")[1].where, '"shop/web" in victims');
  assert.equal(ofPlugin("NodeAffinity")[0].where, 'refused_by("NodeAffinity")');
  assert.equal(ofReason("Insufficient cpu")[0].where, 'reason("Insufficient cpu")');
  assert.ok(ALWAYS.every(({ name, where }) => name && where));
});

test("names are unique", () => {
  assert.equal(unused("a tie", []), "a tie");
  assert.equal(unused("a tie", ["a tie", "a tie (2)"]), "a tie (3)");
  assert.ok(unused("x".repeat(500), []).length <= 200);
});

test("the nearest match, with all breakpoints that match there", () => {
  const hits = [
    { name: "a", cycle: 9 },
    { name: "b", cycle: 4, t: 12.5 },
    { name: "c", cycle: null },
    { name: "d", cycle: 4 },
  ];
  assert.deepEqual(nearest(hits, 1), { cycle: 4, t: 12.5, names: ["b", "d"] });
  assert.deepEqual(nearest(hits, -1), { cycle: 9, t: undefined, names: ["a"] });
  assert.equal(nearest([{ name: "c", cycle: null }], 1), null);
});
