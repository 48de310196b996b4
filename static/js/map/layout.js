// @ts-check
// Where each node's box stands: groups in rows, all boxes of one size, as large as fits.

export const GAP = 10; // between groups
export const HEAD = 22; // a group's name
export const PAD = 6; // around the boxes of a group
const TALL = 1.15; // a box's height to its width
const LARGEST = 150;
const SMALLEST = 2;
const MOST_ROWS = 60;

/**
 * @typedef {{ name: string, nodes: string[], x: number, y: number, width: number, height: number, columns: number }} Tile
 * @typedef {{ tiles: Tile[], pitch: number, tall: number, width: number, height: number }} Layout `pitch`: from box to
 *   box across; `tall`: down. All in pixels at zoom 1.
 */

/**
 * @param {{ name: string, nodes: string[] }[]} groups
 * @param {number} width that there is
 * @param {number} height that there is; boxes become smaller before it is exceeded
 * @returns {Layout}
 */
export function layout(groups, width, height) {
  const sizes = groups.map(({ nodes }) => nodes.length);
  let best = { pitch: 0, rows: /** @type {number[][]} */ ([]) };
  for (let count = 1; count <= Math.min(groups.length, MOST_ROWS); count += 1) {
    const rows = split(sizes, count);
    const pitch = largest(rows, sizes, width, height);
    if (pitch > best.pitch) best = { pitch, rows };
  }
  if (!best.pitch) best = tight(sizes, width);
  return placed(groups, best.rows, best.pitch, width);
}

/** Of more than fits: as many groups side by side as there is room for; the map is then higher than its view.
 * @param {number[]} sizes @param {number} width */
function tight(sizes, width) {
  for (let count = 1; count < sizes.length; count += 1) {
    const rows = split(sizes, count);
    if (rows.every((row) => columnsOf(row, sizes, SMALLEST * 2, width))) return { pitch: SMALLEST * 2, rows };
  }
  return { pitch: SMALLEST * 2, rows: sizes.map((_, index) => [index]) };
}

/** Cuts a list into `count` runs of about equal sums; the indexes in each. @param {number[]} sizes @param {number} count */
function split(sizes, count) {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  /** @type {number[][]} */
  const rows = [[]];
  let done = 0;
  sizes.forEach((size, index) => {
    const row = /** @type {number[]} */ (rows.at(-1));
    const left = sizes.length - index;
    const full = done + size / 2 > (total * rows.length) / count || left <= count - rows.length;
    if (row.length && rows.length < count && full) rows.push([index]);
    else row.push(index);
    done += size;
  });
  return rows;
}

/** The largest pitch at which the rows fit. @param {number[][]} rows @param {number[]} sizes @param {number} width @param {number} height */
function largest(rows, sizes, width, height) {
  const fits = (/** @type {number} */ pitch) =>
    rows.reduce((sum, row) => sum + heightOf(row, sizes, pitch, width), GAP * (rows.length - 1)) <= height;
  let [low, high] = [SMALLEST, LARGEST];
  if (!fits(low)) return 0;
  for (let step = 0; step < 20; step += 1) {
    const middle = (low + high) / 2;
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** Columns of each group of a row: in proportion to its nodes. @param {number[]} row @param {number[]} sizes @param {number} pitch @param {number} width */
function columnsOf(row, sizes, pitch, width) {
  const room = Math.floor((width - (row.length - 1) * GAP - row.length * 2 * PAD) / pitch);
  const total = row.reduce((sum, index) => sum + sizes[index], 0);
  if (room < row.length) return null;
  const columns = row.map((index) => Math.max(1, Math.min(sizes[index], Math.floor((room * sizes[index]) / total))));
  let free = room - columns.reduce((sum, count) => sum + count, 0);
  if (free < 0) return null;
  // What is left goes where the most rows are.
  for (; free > 0; free -= 1) {
    const depths = row.map((index, place) => Math.ceil(sizes[index] / columns[place]));
    const deepest = depths.indexOf(Math.max(...depths));
    if (columns[deepest] >= sizes[row[deepest]]) break;
    columns[deepest] += 1;
  }
  return columns;
}

/** @param {number[]} row @param {number[]} sizes @param {number} pitch @param {number} width */
function heightOf(row, sizes, pitch, width) {
  const columns = columnsOf(row, sizes, pitch, width);
  if (!columns) return Infinity;
  const deepest = Math.max(...row.map((index, place) => Math.ceil(sizes[index] / columns[place])));
  return HEAD + PAD + deepest * pitch * TALL;
}

/** @param {{ name: string, nodes: string[] }[]} groups @param {number[][]} rows @param {number} pitch @param {number} width @returns {Layout} */
function placed(groups, rows, pitch, width) {
  const sizes = groups.map(({ nodes }) => nodes.length);
  /** @type {Tile[]} */
  const tiles = [];
  let y = 0;
  for (const row of rows) {
    const columns = columnsOf(row, sizes, pitch, width) ?? row.map(() => 1);
    const deepest = Math.max(...row.map((index, place) => Math.ceil(sizes[index] / columns[place])));
    const high = HEAD + PAD + deepest * pitch * TALL;
    let x = 0;
    row.forEach((index, place) => {
      const wide = columns[place] * pitch + 2 * PAD;
      tiles.push({ ...groups[index], x, y, width: wide, height: high, columns: columns[place] });
      x += wide + GAP;
    });
    y += high + GAP;
  }
  const right = Math.max(width, ...tiles.map((tile) => tile.x + tile.width));
  return { tiles, pitch, tall: pitch * TALL, width: right, height: Math.max(0, y - GAP) };
}

/** The upper left corner of a node's place. @param {Layout} layout @param {Tile} tile @param {number} index of the node in its group */
export function placeOf({ pitch, tall }, tile, index) {
  const [column, row] = [index % tile.columns, Math.floor(index / tile.columns)];
  return { x: tile.x + PAD + column * pitch, y: tile.y + HEAD + row * tall };
}

/**
 * What is at a point: {tile, index}, index -1 for the group itself; null for nothing.
 * @param {Layout} layout @param {number} x @param {number} y
 */
export function at({ tiles, pitch, tall }, x, y) {
  const tile = tiles.find((one) => x >= one.x && x <= one.x + one.width && y >= one.y && y <= one.y + one.height);
  if (!tile) return null;
  const [column, row] = [Math.floor((x - tile.x - PAD) / pitch), Math.floor((y - tile.y - HEAD) / tall)];
  const index = row * tile.columns + column;
  const inside = column >= 0 && column < tile.columns && row >= 0 && index < tile.nodes.length;
  return { tile, index: inside ? index : -1 };
}
