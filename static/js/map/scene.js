// @ts-check
// The values to draw: the blocks and resource use of each node, and the sums of closed groups.

import { LEVELS } from "./ladder.js";
import { blocks } from "./quantities.js";

/**
 * @typedef {import("./cluster_model.js").World} World
 * @typedef {import("./cluster_model.js").Pod} Pod
 * @typedef {import("./layout.js").Tile} Tile
 * @typedef {{ share: number, pods: Pod[], parts: [number, number][], classes: number[],
 *   ghosts: Pod[] }} Box `share`: requested share of the resource; `parts`: start and end of each pod's block, then of
 *   the blocks of `ghosts`, the nominated pods; `classes`: colour classes of the pods
 * @typedef {{ nodes: number, pods: number, placed: number, share: number, bins: number[] }} Sum `placed`: pods that the run
 *   placed; `bins`: nodes that are 0 to 10% full, 10 to 20% ..., last those above 100%
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
    /** @type {Map<string, Sum>} */
    this.sums = new Map();
  }

  /** Forget cached values of these nodes, or of all nodes. @param {Iterable<string>} [nodes] */
  forget(nodes) {
    if (nodes) for (const name of nodes) this.boxes.delete(name);
    else this.boxes.clear();
    this.sums.clear();
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
    const made = { pods: [...pods], parts, share, classes: pods.map(this.colouring.of), ghosts };
    this.boxes.set(name, made);
    return made;
  }

  /** Return the sums of a group. @param {Tile} tile @returns {Sum} */
  sum(tile) {
    const known = this.sums.get(tile.name);
    if (known) return known;
    const bins = new Array(BINS).fill(0);
    let [nodes, pods, placed, requested, has] = [0, 0, 0, 0, 0];
    for (const name of tile.nodes) {
      if (!this.world.nodes.has(name)) continue;
      nodes += 1;
      const box = this.box(name);
      const allocatable = this.world.nodes.get(name)?.allocatable[this.resource] ?? 0;
      pods += box.pods.length;
      for (const pod of box.pods) if (pod.came >= this.world.before) placed += 1;
      if (!(allocatable > 0)) continue;
      has += allocatable;
      requested += box.share * allocatable;
      bins[binOf(box.share)] += 1;
    }
    const made = { nodes, pods, placed, share: has > 0 ? requested / has : 0, bins };
    this.sums.set(tile.name, made);
    return made;
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
