import assert from "node:assert/strict";
import { test } from "node:test";
import { from, lineOf, MOST, matches, pattern, position } from "../../static/js/editor/search.js";
import { maps } from "./helpers.js";

const lines = ["kind: Pod", "name: pod-a.b", "POD"];

test("search ignores case and is not a pattern", () => {
  const found = matches(lines, "pod");
  assert.deepEqual(found, [
    { line: 0, from: 6, to: 9 },
    { line: 1, from: 6, to: 9 },
    { line: 2, from: 0, to: 3 },
  ]);
  assert.equal(matches(lines, "a.b").length, 1);
  assert.equal(matches(lines, ".").length, 1);
  assert.deepEqual(matches(lines, ""), []);
  for (const odd of "\\^$.*+?()[]{}|/-\"'é😀") assert.ok(pattern(odd).test(odd), odd);
});

test("overlapping words are counted once each", () => {
  maps(({ from }) => from, matches(["aaaa"], "aa"), [0, 2]);
});

test("the number of matches is limited", () => {
  assert.equal(matches(["e".repeat(MOST + 5)], "e").length, MOST);
  assert.equal(position(0, MOST), "1 of 10,000 or more");
});

test("search continues from a position and wraps around", () => {
  const found = matches(lines, "pod");
  assert.equal(from(found, { line: 0, ch: 6 }), 0);
  assert.equal(from(found, { line: 0, ch: 7 }), 1);
  assert.equal(from(found, { line: 9, ch: 0 }), 0);
  assert.equal(from([], { line: 0, ch: 0 }), -1);
});

test("the matching line", () => {
  assert.equal(lineOf("3", 10), 2);
  assert.equal(lineOf(" :99 ", 10), 9);
  assert.equal(lineOf("0", 10), 0);
  assert.equal(lineOf("three", 10), -1);
});

test("the position is described", () => {
  assert.equal(position(2, 17), "3 of 17");
  assert.equal(position(-1, 0), "nothing found");
});
