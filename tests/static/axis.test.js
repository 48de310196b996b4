import assert from "node:assert/strict";
import { test } from "node:test";
import { grown, isWhole, momentAt, placeOf, showing, whole, zoomed } from "../../static/js/timeline/axis.js";

test("times and positions are converted both ways", () => {
  const axis = { from: 100, to: 300, until: 1000 };
  assert.equal(placeOf(axis, 150), 0.25);
  for (const t of [100, 101.5, 250, 300]) assert.ok(Math.abs(momentAt(axis, placeOf(axis, t)) - t) < 1e-9);
  assert.equal(momentAt(axis, -0.1), 100);
  assert.equal(momentAt(axis, 7), 300);
  assert.equal(placeOf(whole(0), 0), 0, "a queued run");
});

test("zooming keeps the position of the current time", () => {
  const near = zoomed(whole(1000), 500, 1 / 4);
  assert.deepEqual(near, { from: 375, to: 625, until: 1000 });
  assert.equal(placeOf(near, 500), 0.5);
  assert.deepEqual(zoomed(near, 500, 4), whole(1000));
  assert.ok(isWhole(zoomed(near, 500, 4)));
  assert.deepEqual(zoomed(whole(1000), 1000, 1 / 4), { from: 750, to: 1000, until: 1000 });
});

test("the visible interval has a minimum and stays within the run", () => {
  let axis = whole(1000);
  for (let times = 0; times < 20; times += 1) axis = zoomed(axis, 3, 1 / 4);
  assert.ok(axis.to - axis.from >= 1 - 1e-9);
  assert.ok(axis.from >= 0);
  assert.ok(axis.from <= 3);
  assert.ok(axis.to >= 3);
  for (let times = 0; times < 20; times += 1) axis = zoomed(axis, 3, 4);
  assert.deepEqual(axis, whole(1000));
  assert.deepEqual(zoomed(whole(0.5), 0.2, 1 / 4), whole(0.5), "a run of half a second is not zoomed");
});

test("the visible interval moves on when the current time leaves it", () => {
  const axis = { from: 100, to: 200, until: 1000 };
  assert.equal(showing(axis, 100), axis);
  assert.equal(showing(axis, 200), axis);
  assert.deepEqual(showing(axis, 201), { from: 191, to: 291, until: 1000 });
  assert.deepEqual(showing(axis, 99), { from: 9, to: 109, until: 1000 });
  assert.deepEqual(showing(axis, 1000), { from: 900, to: 1000, until: 1000 });
  assert.deepEqual(showing(axis, 0), { from: 0, to: 100, until: 1000 });
});

test("the whole of a running run stays visible", () => {
  assert.deepEqual(grown(whole(10), 20), whole(20));
  assert.deepEqual(grown({ from: 2, to: 4, until: 10 }, 20), { from: 2, to: 4, until: 20 });
});
