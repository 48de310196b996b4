// @ts-check
// The visible part of the map: the map point at the upper left corner, and the zoom factor.

/**
 * @typedef {{ x: number, y: number, zoom: number }} Camera
 * @typedef {{ width: number, height: number }} Size
 */

export const CLOSEST = 40;

/** Return the camera that shows the whole map. @returns {Camera} */
export const whole = () => ({ x: 0, y: 0, zoom: 1 });

/** Convert a map point to view coordinates. @param {Camera} camera @param {number} x @param {number} y */
export const toView = ({ x: left, y: top, zoom }, x, y) => ({ x: (x - left) * zoom, y: (y - top) * zoom });

/** Convert a view point to map coordinates. @param {Camera} camera @param {number} x @param {number} y */
export const toMap = ({ x: left, y: top, zoom }, x, y) => ({ x: x / zoom + left, y: y / zoom + top });

/**
 * Limit a camera to the map: not smaller than the whole map, and not beyond its edges.
 * @param {Camera} camera @param {Size} view @param {Size} map @returns {Camera}
 */
export function within({ x, y, zoom }, view, map) {
  const near = Math.min(CLOSEST, Math.max(1, zoom));
  const [wide, high] = [view.width / near, view.height / near];
  return {
    x: Math.max(0, Math.min(x, map.width - wide)),
    y: Math.max(0, Math.min(y, Math.max(map.height, view.height) - high)),
    zoom: near,
  };
}

/**
 * Zoom in (factor above 1) or out around the point (px, py).
 * @param {Camera} camera @param {number} factor @param {number} px @param {number} py @param {Size} view
 * @param {Size} map
 */
export function zoomed(camera, factor, px, py, view, map) {
  const zoom = Math.min(CLOSEST, Math.max(1, camera.zoom * factor));
  const { x, y } = toMap(camera, px, py);
  return within({ x: x - px / zoom, y: y - py / zoom, zoom }, view, map);
}

/**
 * Move the camera by a number of pixels.
 * @param {Camera} camera @param {number} dx @param {number} dy @param {Size} view @param {Size} map
 */
export const panned = ({ x, y, zoom }, dx, dy, view, map) =>
  within({ x: x - dx / zoom, y: y - dy / zoom, zoom }, view, map);

/**
 * Return the camera that shows a part of the map as large as possible.
 * @param {{ x: number, y: number, width: number, height: number }} box @param {Size} view @param {Size} map
 * @param {number} [most] maximum zoom
 */
export function onto(box, view, map, most = CLOSEST) {
  const zoom = Math.min(most, view.width / box.width, view.height / box.height);
  const [x, y] = [box.x + box.width / 2 - view.width / zoom / 2, box.y + box.height / 2 - view.height / zoom / 2];
  return within({ x, y, zoom }, view, map);
}

/**
 * Interpolate between two cameras.
 * @param {Camera} from @param {Camera} to @param {number} part 0 to 1 @returns {Camera}
 */
export function between(from, to, part) {
  const eased = part < 0.5 ? 2 * part * part : 1 - (2 - 2 * part) ** 2 / 2;
  const zoom = from.zoom * (to.zoom / from.zoom) ** eased;
  // The position moves with the zoom, so that the target stays in view.
  const way = from.zoom === to.zoom ? eased : (1 / from.zoom - 1 / zoom) / (1 / from.zoom - 1 / to.zoom);
  return { x: from.x + (to.x - from.x) * way, y: from.y + (to.y - from.y) * way, zoom };
}
