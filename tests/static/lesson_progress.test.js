import assert from "node:assert/strict";
import { test } from "node:test";
import { done, finished, note, summary } from "../../static/js/lesson_progress.js";

test("finished steps are stored by lesson, once and in order", () => {
  const text = note(note(note(null, "a", 3), "a", 2), "a", 3);
  assert.deepEqual(done(text, "a"), [2, 3]);
  assert.deepEqual(done(text, "b"), []);
  assert.ok(finished(text, "a", 2));
  assert.ok(!finished(text, "a", 3));
});

test("invalid stored values are ignored", () => {
  for (const text of ["", "[", "[]", "7", "null", '{"a": "x"}', '{"a": ["<b>"]}'])
    assert.deepEqual(done(text, "a"), []);
});

test("the course continues with the first unfinished lesson", () => {
  const lessons = [
    { name: "a", questions: 1 },
    { name: "b", questions: 2 },
  ];
  assert.deepEqual(summary(null, lessons), { text: "", next: "a" });
  const { text, next } = summary(note(null, "a", 2), lessons);
  assert.equal(next, "b");
  assert.equal(text, "1 of 3 questions answered, 1 of 2 lessons finished");
});

test("progress of version 1.0.0, stored by number, is kept", () => {
  const old = '{"07-topology-spread": [2, 3], "a": [1]}';
  assert.deepEqual(done(old, "topology-spread"), [2, 3]);
  assert.equal(note(old, "topology-spread", 4), '{"topology-spread":[2,3,4],"a":[1]}');
});
