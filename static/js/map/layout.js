// @ts-check
// Layout of the node boxes: groups in rows, all boxes of the same size, as large as possible.

export const GAP = 10; // pixels between groups
export const HEAD = 22; // height of a group's name
export const PAD = 6; // padding around the boxes of a group
const TALL = 1.15; // ratio of a box's height to its width
const LARGEST = 150; // of a box; a wide map has larger ones, so that a few nodes do not leave half of it empty
const SMALLEST = 1; // groups show their boxes when the user zooms in
const MOST_ROWS = 60;
const NARROWEST = 84; // about; pixels of the boxes of a group
export const OPEN = 12; // minimum pitch at which a group shows its nodes
const READABLE = { width: 150, height: 62 }; // of a closed group, without its name

/**
 * @typedef {{ name: string, nodes: string[], x: number, y: number, width: number, height: number, columns: number }} Tile
 * @typedef {{ tiles: Tile[], pitch: number, tall: number, width: number, height: number }} Layout `pitch`: from box to
 *   box across; `tall`: down. All in pixels at zoom 1.
 */

/**
 * Compute the layout.
 * @param {{ name: string, nodes: string[] }[]} groups @param {number} width available width
 * @param {number} height available height; boxes are made smaller to fit
 * @returns {Layout}
 */
export function layout(groups, width, height) {
  let sizes = groups.map(({ nodes }) => nodes.length);
  let best = fitted(sizes, width, height);
  if (best.pitch < OPEN) {
    // Closed groups: those with few nodes get the places of more, so that their names and numbers can be read.
    const average = sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
    const least = Math.min(average, (READABLE.width / best.pitch) * (READABLE.height / (best.pitch * TALL)));
    sizes = sizes.map((size) => Math.max(size, Math.ceil(least)));
    best = fitted(sizes, width, height);
  }
  return placed(groups, sizes, best.rows, best.pitch, width);
}

/** Return the rows of groups with the largest pitch. @param {number[]} sizes @param {number} width @param {number} height */
function fitted(sizes, width, height) {
  let best = { pitch: 0, rows: /** @type {number[][]} */ ([]) };
  for (let count = 1; count <= Math.min(sizes.length, MOST_ROWS); count += 1) {
    const rows = split(sizes, count);
    const pitch = largest(rows, sizes, width, height);
    if (pitch > best.pitch) best = { pitch, rows };
  }
  return best.pitch ? best : tight(sizes, width);
}

/**
 * Lay out more nodes than fit: as many groups side by side as possible. The map is then taller than its view.
 * @param {number[]} sizes @param {number} width
 */
function tight(sizes, width) {
  for (let count = 1; count < sizes.length; count += 1) {
    const rows = split(sizes, count);
    if (rows.every((row) => columnsOf(row, sizes, SMALLEST * 2, width))) return { pitch: SMALLEST * 2, rows };
  }
  return { pitch: SMALLEST * 2, rows: sizes.map((_, index) => [index]) };
}

/**
 * Split a list into `count` runs of about equal sums. Return the indexes of each run.
 * @param {number[]} sizes @param {number} count
 */
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

/**
 * Return the largest pitch at which the rows fit, or 0.
 * @param {number[][]} rows @param {number[]} sizes @param {number} width @param {number} height
 */
function largest(rows, sizes, width, height) {
  const fits = (/** @type {number} */ pitch) =>
    rows.reduce((sum, row) => sum + heightOf(row, sizes, pitch, width), GAP * (rows.length - 1)) <= height;
  let [low, high] = [SMALLEST, Math.max(LARGEST, width / 7)];
  if (!fits(low)) return 0;
  for (let step = 0; step < 20; step += 1) {
    const middle = (low + high) / 2;
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/**
 * Return the number of columns of each group in a row, proportional to its nodes and wide enough for its name; null if
 * they do not fit.
 * @param {number[]} row @param {number[]} sizes @param {number} pitch @param {number} width
 */
function columnsOf(row, sizes, pitch, width) {
  const places = Math.floor((width - (row.length - 1) * GAP - row.length * 2 * PAD) / pitch);
  const total = row.reduce((sum, index) => sum + sizes[index], 0);
  const fewest = Math.max(1, Math.round(NARROWEST / pitch));
  if (places < row.length * fewest) return null;
  const columns = row.map((index) =>
    Math.max(fewest, Math.min(sizes[index], Math.floor((places * sizes[index]) / total))),
  );
  let free = places - columns.reduce((sum, count) => sum + count, 0);
  // Missing columns come from the group with the fewest rows, remaining ones go to the group with the most.
  for (; free < 0; free += 1) {
    const high = depths(row, sizes, columns).map((rows, place) => (columns[place] > fewest ? rows : Infinity));
    columns[high.indexOf(Math.min(...high))] -= 1;
  }
  for (; free > 0; free -= 1) {
    const high = depths(row, sizes, columns);
    const deepest = high.indexOf(Math.max(...high));
    if (columns[deepest] >= sizes[row[deepest]]) break;
    columns[deepest] += 1;
  }
  return columns;
}

/** @param {number[]} row @param {number[]} sizes @param {number} pitch @param {number} width */
function heightOf(row, sizes, pitch, width) {
  const columns = columnsOf(row, sizes, pitch, width);
  return columns ? HEAD + PAD + Math.max(...depths(row, sizes, columns)) * pitch * TALL : Infinity;
}

/** Return the number of rows of boxes of each group. @param {number[]} row @param {number[]} sizes @param {number[]} columns */
const depths = (row, sizes, columns) => row.map((index, place) => Math.ceil(sizes[index] / columns[place]));

/** @param {{ name: string, nodes: string[] }[]} groups @param {number[]} sizes @param {number[][]} rows @param {number} pitch @param {number} width @returns {Layout} */
function placed(groups, sizes, rows, pitch, width) {
  /** @type {Tile[]} */
  const tiles = [];
  let y = 0;
  for (const row of rows) {
    const columns = columnsOf(row, sizes, pitch, width) ?? row.map(() => 1);
    const high = HEAD + PAD + Math.max(...depths(row, sizes, columns)) * pitch * TALL;
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

/**
 * Return the upper left corner of a node's box.
 * @param {Layout} layout @param {Tile} tile @param {number} index of the node in its group
 */
export function placeOf({ pitch, tall }, tile, index) {
  const [column, row] = [index % tile.columns, Math.floor(index / tile.columns)];
  return { x: tile.x + PAD + column * pitch, y: tile.y + HEAD + row * tall };
}

/**
 * Return what is at a point: {tile, index}, with index -1 for the group itself, or null.
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
