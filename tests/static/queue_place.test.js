import assert from "node:assert/strict";
import { test } from "node:test";
import { QueuePlace } from "../../static/js/timeline/queue_place.js";

test("the place follows the progress of the run, and never goes back", () => {
  const place = new QueuePlace(412, 100);
  assert.equal(place.text, "412 pods are tried before it.");
  place.update(100, 0);
  place.update(90, 100); // a message that is older than the page
  assert.equal(place.ahead, 412);
  place.update(511, 10_000);
  assert.equal(place.text, "1 pod is tried before it. Its turn comes in about 1 s.");
  place.update(600, 11_000);
  assert.equal(place.text, "It is next.");
});

test("the estimate uses the speed of the last 20 seconds", () => {
  const place = new QueuePlace(1000, 0);
  place.update(0, 0);
  place.update(5, 500); // too early to measure
  assert.equal(place.seconds, null);
  for (let s = 1; s <= 30; s++) place.update(10 * s, s * 1000);
  assert.equal(place.speed, 10);
  assert.equal(place.text, "700 pods are tried before it. Its turn comes in about 1 min 10 s.");
  for (let s = 31; s <= 60; s++) place.update(300 + 20 * (s - 30), s * 1000);
  assert.equal(Math.round(place.speed), 20);
  assert.equal(place.text, "100 pods are tried before it. Its turn comes in about 5 s.");
  place.update(900, 90_000);
  place.update(900, 111_000);
  assert.equal(place.text, "100 pods are tried before it."); // the run stands still
});
