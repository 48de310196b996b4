import assert from "node:assert/strict";
import { test } from "node:test";
import { at, HEAD, layout, PAD, placeOf } from "../../static/js/map/layout.js";

const groups = (...sizes) =>
  sizes.map((size, g) => ({ name: `g${g}`, nodes: Array.from({ length: size }, (_, i) => `g${g}n${i}`) }));
const all = (found) => found.tiles.flatMap((tile) => tile.nodes.map((_, index) => placeOf(found, tile, index)));

test("every node has its own position within its group and the width", () => {
  for (const sizes of [[1], [6], [2, 2, 2], [100, 150, 50], [834, 834, 833, 833], Array(40).fill(7), [1, 4000, 3, 900]])
    for (const [width, height] of Object.entries({ 1000: 560, 340: 400, 1600: 620 })) {
      const found = layout(groups(...sizes), Number(width), height);
      assert.equal(all(found).length, groups(...sizes).flatMap(({ nodes }) => nodes).length);
      assert.equal(new Set(all(found).map(({ x, y }) => `${x.toFixed(3)} ${y.toFixed(3)}`)).size, all(found).length);
      for (const tile of found.tiles) {
        const last = placeOf(found, tile, tile.nodes.length - 1);
        assert.ok(last.y + found.tall <= tile.y + tile.height + 1e-6, `${sizes} in ${width}`);
        assert.ok(tile.x + PAD + tile.columns * found.pitch <= tile.x + tile.width + 1e-6);
        assert.ok(tile.x + tile.width <= found.width + 1e-6);
      }
      for (const [index, tile] of found.tiles.entries())
        for (const other of found.tiles.slice(index + 1)) {
          const apart =
            tile.x + tile.width <= other.x || tile.y + tile.height <= other.y || other.y + other.height <= tile.y;
          assert.ok(apart, "groups do not overlap");
        }
    }
});

test("boxes are as large as fits", () => {
  const few = layout(groups(2, 2, 2), 1000, 560);
  assert.ok(few.pitch > 120 && few.height <= 560);
  const many = layout(groups(834, 834, 833, 833, 833, 833), 1000, 560);
  assert.ok(many.pitch > 8 && many.pitch < 13 && many.height <= 560.001);
});

test("few boxes fill most of a wide map, and stay small in a narrow one", () => {
  assert.ok(layout(groups(2, 2, 1), 1800, 800).width > 0.6 * 1800);
  assert.ok(layout(groups(2, 2, 1), 860, 440).height < 210);
});

test("the map of a very large cluster is not taller than its view", () => {
  for (const [width, height] of [
    [970, 240],
    [340, 520],
  ])
    assert.ok(layout(groups(...Array(5).fill(13000)), width, height).height <= height + 0.001);
});

test("nodes that do not fit are still laid out", () => {
  const found = layout(groups(...Array(300).fill(30)), 300, 200);
  assert.equal(all(found).length, 9000);
  assert.ok(found.height > 200);
  assert.deepEqual(layout([], 300, 200).tiles, []);
});

test("the node at a point", () => {
  const found = layout(groups(5, 7), 1000, 560);
  for (const tile of found.tiles)
    tile.nodes.forEach((_, index) => {
      const { x, y } = placeOf(found, tile, index);
      assert.deepEqual(at(found, x + 1, y + 1), { tile, index });
    });
  const [tile] = found.tiles;
  assert.equal(at(found, tile.x + 2, tile.y + HEAD / 2).index, -1, "the name of the group");
  assert.equal(at(found, -5, -5), null);
});
