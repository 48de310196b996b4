import assert from "node:assert/strict";
import { test } from "node:test";
import { levelOf, nearest, rungText } from "../../static/js/map/ladder.js";
import { laddered, words } from "../../static/js/map/verdicts.js";
import { maps } from "./helpers.js";

const rung = (changes, each, ...nodes) => ({ changes, each, nodes });
const LADDER = [rung(1, "is cordoned", "a", "b"), rung(1, "lacks cpu", "c"), rung(3, "lacks much", "d")];
const ladder = [...LADDER, rung(null, "has no gpu", "e")];

test("a node's level is the number of changes: none, one, more, never", () => {
  maps(levelOf, [0, 1, 2, 5, null], [0, 1, 2, 2, 3]);
  maps(
    ([changes]) => rungText(changes, "x"),
    [[0], [1], [4], [null]],
    ["x", "one change: x", "4 changes: x", "never: x"],
  );
});

test("the nearest nodes need the fewest changes", () => {
  assert.deepEqual(nearest(ladder), ["a", "b", "c"]);
  assert.deepEqual(nearest([rung(null, "never", "e")]), []);
});

test("a picture with a ladder keeps what the cycle chose", () => {
  const picture = { plugins: [{ name: "Fit", nodes: 2 }], of: new Map([["c", { kind: "chosen" }]]), scored: null };
  const found = laddered(picture, ladder);
  assert.equal(found.levels, true);
  assert.equal(found.near, undefined, "most nodes are near");
  const many = Array.from({ length: 9 }, (_, i) => `n${i}`);
  assert.equal(laddered(picture, [rung(1, "is cordoned", "a"), rung(null, "has no gpu", ...many)]).near, 1);
  assert.deepEqual(
    [...found.of].map(([name, { kind, level }]) => `${name} ${kind} ${level}`),
    ["a rung 1", "b rung 1", "c chosen 1", "d rung 2", "e rung 3"],
  );
  assert.equal(words(found.of.get("e"), found), "never: has no gpu");
  assert.equal(words(found.of.get("c"), found), "chosen");
  assert.equal(laddered(picture, []), picture, "of a pod that is rejected before any node");
});
