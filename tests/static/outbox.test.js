import assert from "node:assert/strict";
import { test } from "node:test";
import { again, keyOf } from "../../static/js/live_class/outbox.js";

test("an answer that the server accepted or rejected is not sent again", () => {
  for (const status of [200, 400, 403, 404, 409, 410]) assert.equal(again(status, 0, 0.5), null);
});

test("without a response, or during an outage, it is sent again with growing delays", () => {
  for (const status of [0, 408, 429, 500, 502, 503]) assert.ok(again(status, 0, 0.5) > 0);
  assert.ok(again(0, 3, 0.5) > again(0, 1, 0.5));
  assert.ok(again(0, 99, 1) <= 8000);
});

test("answers are stored by class and step", () => {
  assert.notEqual(keyOf("A", 11), keyOf("A1", 1));
});
