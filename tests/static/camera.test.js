import assert from "node:assert/strict";
import { test } from "node:test";
import { between, CLOSEST, onto, panned, toMap, toView, whole, within, zoomed } from "../../static/js/map/camera.js";

const [view, map] = [
  { width: 800, height: 400 },
  { width: 800, height: 600 },
];
const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-6, `${a} is not ${b}`);

test("positions on the map and in the view are converted both ways", () => {
  const camera = { x: 30, y: 40, zoom: 2.5 };
  const { x, y } = toView(camera, 100, 90);
  assert.deepEqual([x, y], [175, 125]);
  assert.deepEqual(toMap(camera, x, y), { x: 100, y: 90 });
});

test("zooming keeps the point under the pointer", () => {
  const before = { x: 100, y: 100, zoom: 2 };
  const after = zoomed(before, 3, 200, 120, view, map);
  assert.equal(after.zoom, 6);
  const { x, y } = toView(after, ...Object.values(toMap(before, 200, 120)));
  near(x, 200);
  near(y, 120);
  assert.deepEqual(zoomed(after, 0.0001, 0, 0, view, map), { ...whole(), y: zoomed(after, 0.0001, 0, 0, view, map).y });
  assert.equal(zoomed(after, 1e9, 0, 0, view, map).zoom, CLOSEST);
});

test("the camera stays within the map", () => {
  assert.deepEqual(within({ x: -50, y: -50, zoom: 0.2 }, view, map), whole());
  assert.deepEqual(within({ x: 900, y: 900, zoom: 2 }, view, map), { x: 400, y: 400, zoom: 2 });
  assert.deepEqual(panned({ x: 100, y: 100, zoom: 2 }, 20, -40, view, map), { x: 90, y: 120, zoom: 2 });
  assert.deepEqual(panned(whole(), 500, 500, view, map), whole());
});

test("a part of the map fills the view", () => {
  const camera = onto({ x: 200, y: 100, width: 100, height: 50 }, view, map);
  assert.deepEqual(camera, { x: 200, y: 100, zoom: 8 });
  assert.equal(onto({ x: 0, y: 0, width: 1, height: 1 }, view, map, 12).zoom, 12);
});

test("an animation starts and ends exactly", () => {
  const [from, to] = [whole(), { x: 300, y: 200, zoom: 6 }];
  assert.deepEqual(between(from, to, 0), from);
  const end = between(from, to, 1);
  for (const key of ["x", "y", "zoom"]) near(end[key], to[key]);
  const { zoom } = between(from, to, 0.5);
  assert.ok(zoom > 1 && zoom < 6);
  assert.deepEqual(between(whole(), { x: 10, y: 0, zoom: 1 }, 1), { x: 10, y: 0, zoom: 1 });
});
