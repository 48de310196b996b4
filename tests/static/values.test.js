import assert from "node:assert/strict";
import { test } from "node:test";
import { empty, get, number, same, set, unused, words } from "../../static/js/editor/values.js";

test("setting a value does not change the original", () => {
  const was = { spec: { replicas: 3 }, metadata: { name: "a" } };
  const now = set(was, ["spec", "template", "labels"], { app: "a" });
  assert.deepEqual(now, { spec: { replicas: 3, template: { labels: { app: "a" } } }, metadata: { name: "a" } });
  assert.deepEqual(was, { spec: { replicas: 3 }, metadata: { name: "a" } });
  assert.equal(now.metadata, was.metadata);
});

test("lists are created and changed by index", () => {
  assert.deepEqual(set(undefined, ["a", 0, "b"], 1), { a: [{ b: 1 }] });
  assert.deepEqual(set({ a: [1, 2, 3] }, ["a", 1], undefined), { a: [1, 3] });
  assert.deepEqual(set({ a: [{ b: 1 }] }, ["a", 0, "c"], 2), { a: [{ b: 1, c: 2 }] });
});

test("newly empty objects are removed, previously empty ones stay", () => {
  assert.equal(set({ a: { b: { c: 1 } } }, ["a", "b", "c"], undefined), undefined);
  assert.deepEqual(set({ a: { b: [1] }, d: {} }, ["a", "b", 0], undefined), { d: {} });
  assert.deepEqual(set({ a: 1 }, ["b", "c"], undefined), { a: 1 });
});

test("get", () => {
  assert.equal(get({ a: [{ b: 1 }] }, ["a", 0, "b"]), 1);
  assert.equal(get({ a: null }, ["a", "b"]), undefined);
  assert.equal(get("x", ["length"]), undefined);
});

test("equality ignores the order of keys", () => {
  assert.ok(same({ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 }));
  assert.ok(!same({ a: 1 }, { a: 1, b: undefined }));
  assert.ok(!same([1], { 0: 1 }));
  assert.ok(!same(1, true));
});

test("free names", () => {
  assert.equal(unused("web", []), "web");
  assert.equal(unused("web", ["web"]), "web-2");
  assert.equal(unused("web-2", ["web", "web-2", "web-3"]), "web-4");
});

test("numbers and words as typed", () => {
  assert.equal(number(" 3 "), 3);
  assert.equal(number("50%"), "50%");
  assert.equal(number(""), undefined);
  assert.deepEqual(words("a, b  c,"), ["a", "b", "c"]);
  assert.ok(empty({}) && empty(null) && !empty(0));
});
