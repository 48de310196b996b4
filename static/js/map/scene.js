// @ts-check
// The values to draw: the blocks and resource use of each node, and the sums of closed groups.

import { LEVELS } from "./ladder.js";
import { blocks } from "./quantities.js";

/**
 * @typedef {import("./cluster_model.js").World} World
 * @typedef {import("./cluster_model.js").Pod} Pod
 * @typedef {import("./layout.js").Tile} Tile
 * @typedef {{ share: number, pods: Pod[], parts: [number, number][], classes: number[],
 *   ghosts: Pod[], placed: number }} Box `share`: requested share of the resource; `parts`: start and end of each pod's
 *   block, then of the blocks of `ghosts`, the nominated pods; `classes`: colour classes of the pods; `placed`: number of
 *   pods that the run placed
 * @typedef {{ nodes: number, pods: number, placed: number, requested: number, has: number, share: number,
 *   bins: number[] }} Sum of a group: `has`: allocatable quantity of the nodes; `bins`: nodes that are 0 to 10% full, 10 to
 *   20% ..., last those above 100%
 */

export const BINS = 11;

export class Scene {
  /** @param {World} world @param {string} resource @param {import("./colours.js").Colouring} colouring */
  constructor(world, resource, colouring) {
    this.world = world;
    this.resource = resource;
    this.colouring = colouring;
    /** @type {Map<string, Box>} */
    this.boxes = new Map();
    /** By group. @type {Map<string, Sum>} */
    this.sums = new Map();
    /** By node. @type {Map<string, Sum>} */
    this.sumOf = new Map();
  }

  /** Compute the values of these nodes again, or of all nodes. @param {Iterable<string>} [nodes] */
  forget(nodes) {
    if (!nodes) {
      for (const values of [this.boxes, this.sums, this.sumOf]) values.clear();
      return;
    }
    for (const name of nodes) {
      const sum = this.sumOf.get(name);
      if (sum) this.#add(sum, name, -1);
      this.boxes.delete(name);
      if (sum) this.#add(sum, name, 1);
    }
  }

  /** @param {string} name of a node @returns {Box} */
  box(name) {
    const known = this.boxes.get(name);
    if (known) return known;
    const pods = this.world.on.get(name) ?? [];
    const ghosts = this.world.nominated.size ? this.world.ghosts(name) : [];
    const has = this.world.nodes.get(name)?.allocatable[this.resource] ?? 0;
    const parts = blocks([...pods, ...ghosts], this.resource, has);
    const share = parts[pods.length - 1]?.[1] ?? 0;
    const placed = pods.filter(({ came }) => came >= this.world.before).length;
    const made = { pods: [...pods], parts, share, classes: pods.map(this.colouring.of), ghosts, placed };
    this.boxes.set(name, made);
    return made;
  }

  /** Return the sums of a group. @param {Tile} tile @returns {Sum} */
  sum(tile) {
    const known = this.sums.get(tile.name);
    if (known) return known;
    const bins = new Array(BINS).fill(0);
    const made = { nodes: 0, pods: 0, placed: 0, requested: 0, has: 0, share: 0, bins };
    for (const name of tile.nodes) {
      if (!this.world.nodes.has(name)) continue;
      this.#add(made, name, 1);
      this.sumOf.set(name, made);
    }
    this.sums.set(tile.name, made);
    return made;
  }

  /** Add a node to a sum, or take it away. @param {Sum} sum @param {string} name @param {1 | -1} by */
  #add(sum, name, by) {
    const { pods, placed, share } = this.box(name);
    const allocatable = this.world.nodes.get(name)?.allocatable[this.resource] ?? 0;
    sum.nodes += by;
    sum.pods += by * pods.length;
    sum.placed += by * placed;
    if (!(allocatable > 0)) return;
    sum.has += by * allocatable;
    sum.requested += by * Math.round(share * allocatable);
    sum.share = sum.has > 0 ? sum.requested / sum.has : 0;
    sum.bins[binOf(share)] += by;
  }
}

/** @param {number} share */
export const binOf = (share) =>
  share > 1 + 1e-9 ? BINS - 1 : Math.min(BINS - 2, Math.floor(share * (BINS - 1) + 1e-9));

/**
 * Count a group's nodes by what the step says of them: by level, else those that each plugin rejects, then those that
 * are unseen.
 * @param {Tile} tile @param {import("./verdicts.js").Picture} picture @returns {number[]}
 */
export function tally(tile, { plugins, of, levels }) {
  /** @type {number[]} */
  const found = new Array(levels ? LEVELS.length : plugins.length + 1).fill(0);
  for (const name of tile.nodes) {
    const verdict = of.get(name);
    if (levels) {
      if (verdict?.level !== undefined) found[verdict.level] += 1;
    } else if (verdict?.kind === "refused") found[verdict.by ?? 0] += 1;
    else if (verdict?.kind === "unseen") found[plugins.length] += 1;
  }
  return found;
}
