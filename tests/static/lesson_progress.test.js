import assert from "node:assert/strict";
import { test } from "node:test";
import { done, finished, note, summary } from "../../static/js/lesson_progress.js";

test("what is done is kept by lesson, each step once and in order", () => {
  const text = note(note(note(null, "01-a", 3), "01-a", 2), "01-a", 3);
  assert.deepEqual(done(text, "01-a"), [2, 3]);
  assert.deepEqual(done(text, "02-b"), []);
  assert.ok(finished(text, "01-a", 2));
  assert.ok(!finished(text, "01-a", 3));
});

test("what somebody else wrote there is as nothing", () => {
  for (const text of ["", "[", "[]", "7", "null", '{"01-a": "x"}', '{"01-a": ["<b>"]}'])
    assert.deepEqual(done(text, "01-a"), []);
});

test("the course goes on at the first lesson that is not finished", () => {
  const lessons = [
    { name: "01-a", questions: 1 },
    { name: "02-b", questions: 2 },
  ];
  assert.deepEqual(summary(null, lessons), { text: "", next: "01-a" });
  const { text, next } = summary(note(null, "01-a", 2), lessons);
  assert.equal(next, "02-b");
  assert.equal(text, "1 of 3 questions answered, 1 of 2 lessons finished");
});
