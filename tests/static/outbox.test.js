import assert from "node:assert/strict";
import { test } from "node:test";
import { again, keyOf } from "../../static/js/live_class/outbox.js";

test("what the server has said yes or no to is not sent again", () => {
  for (const status of [200, 400, 403, 404, 409, 410]) assert.equal(again(status, 0, 0.5), null);
});

test("without a word, or while the server has trouble, it is sent again, later each time", () => {
  for (const status of [0, 408, 429, 500, 502, 503]) assert.ok(again(status, 0, 0.5) > 0);
  assert.ok(again(0, 3, 0.5) > again(0, 1, 0.5));
  assert.ok(again(0, 99, 1) <= 8000);
});

test("each step of each room has its own place", () => {
  assert.notEqual(keyOf("A", 11), keyOf("A1", 1));
});
