// @ts-check
// A stretch of a run in time: which pod is in which lane, at any moment of it.

const KEPT_EVERY = 4096; // moves between two kept states: going to any moment replays at most so many
const SAME = 1e-9; // seconds; moments that are closer are one

/**
 * What the API answers at /api/runs/N/lanes/stretch.
 * @typedef {object} Answer
 * @property {number} from seconds
 * @property {number} to seconds: where the next stretch begins, or how far the run has come
 * @property {string[]} lanes
 * @property {string[]} pods "namespace/name" of those that move here, and of the others the newest of each lane
 * @property {number[]} counts size of each lane when it begins, of all pods
 * @property {number[][]} there of each lane, which of `pods` are in it then; who came last is last
 * @property {{ t: number[], pod: number[], lane: number[], seq: number[] }} moves columns
 * @property {number[]} moments when something happens, in order
 */

/**
 * @typedef {object} State
 * @property {Int8Array} lane per pod: its lane, -1 before it has one
 * @property {Int32Array} last per pod: its latest move; negative for one before the stretch
 * @property {Int32Array} counts per lane: its pods
 */

export class Stretch {
  /** @param {Answer} answer */
  constructor({ from, to, lanes, pods, counts, there, moves, moments }) {
    this.from = from;
    this.to = to;
    this.lanes = lanes;
    this.pods = pods;
    this.moves = moves;
    this.moments = moments;
    this.there = there;
    this.oneNamespace = new Set(pods.map((pod) => pod.split("/")[0])).size <= 1;
    /** @type {State} */
    const state = {
      lane: new Int8Array(pods.length).fill(-1),
      last: new Int32Array(pods.length).fill(-1 - pods.length),
      counts: Int32Array.from(counts),
    };
    there.forEach((inside, lane) => {
      inside.forEach((pod, place) => {
        state.lane[pod] = lane;
        state.last[pod] = place - inside.length; // the newest of a lane is -1
      });
    });
    /** @type {State[]} */
    this.kept = [];
    moves.t.forEach((_, index) => {
      if (index % KEPT_EVERY === 0) this.kept.push(copy(state));
      this.apply(state, index);
    });
    if (!this.kept.length) this.kept.push(state);
  }

  /** Whether the moment is one of this stretch; the end of the last one is. @param {number} t */
  holds(t) {
    return t >= this.from - SAME && (t < this.to - SAME || (t <= this.to + SAME && this.moments.at(-1) === this.to));
  }

  /**
   * @param {State} state
   * @param {number} index of a move
   */
  apply(state, index) {
    const pod = this.moves.pod[index];
    const lane = this.moves.lane[index];
    if (state.lane[pod] >= 0) state.counts[state.lane[pod]] -= 1;
    state.counts[lane] += 1;
    state.lane[pod] = lane;
    state.last[pod] = index;
  }

  /** How many moves of this stretch have happened by t. @param {number} t seconds */
  done(t) {
    return upper(this.moves.t, t);
  }

  /** Who is where at t, and how many moves have led there. @param {number} t seconds */
  at(t) {
    const done = this.done(t);
    const nearest = Math.min(this.kept.length - 1, Math.floor(done / KEPT_EVERY));
    const state = copy(this.kept[nearest]);
    for (let index = nearest * KEPT_EVERY; index < done; index += 1) this.apply(state, index);
    return { ...state, done };
  }

  /**
   * The newest pods of each lane, newest first, at most `most` a lane.
   * @param {State & { done: number }} state
   * @param {number} most
   */
  newest({ lane, last, counts, done }, most) {
    /** @type {number[][]} */
    const found = this.lanes.map(() => []);
    let missing = counts.reduce((sum, count) => sum + Math.min(count, most), 0);
    for (let index = done - 1; index >= 0 && missing > 0; index -= 1) {
      const pod = this.moves.pod[index];
      if (last[pod] !== index || found[lane[pod]].length >= most) continue;
      found[lane[pod]].push(pod);
      missing -= 1;
    }
    this.there.forEach((inside, index) => {
      for (let place = inside.length - 1; place >= 0 && found[index].length < most; place -= 1) {
        if (last[inside[place]] < 0) found[index].push(inside[place]);
      }
    });
    return found;
  }

  /**
   * lane -> pods that came into it at the last moment until `t`, and within so many seconds before that.
   * @param {number} t
   * @param {number} seconds
   */
  recent(t, seconds) {
    /** @type {Map<number, Set<number>>} */
    const found = new Map();
    const { moves } = this;
    const since = (this.moments[upper(this.moments, t) - 1] ?? t) - seconds;
    for (let index = this.done(t) - 1; index >= 0 && moves.t[index] >= since - SAME; index -= 1) {
      const lane = moves.lane[index];
      if (!found.has(lane)) found.set(lane, new Set());
      found.get(lane)?.add(moves.pod[index]);
    }
    return found;
  }

  /** The moment before; null if that is not of this stretch. @param {number} t */
  before(t) {
    return this.moments[lower(this.moments, t) - 1] ?? null;
  }

  /** The moment after: the last one leads to the next stretch. @param {number} t */
  after(t) {
    return this.moments[upper(this.moments, t)] ?? this.to;
  }
}

/** How many of the sorted numbers are at most `t`. @param {number[]} sorted @param {number} t */
const upper = (sorted, t) => count(sorted, (value) => value <= t + SAME);

/** How many of the sorted numbers are below `t`. @param {number[]} sorted @param {number} t */
const lower = (sorted, t) => count(sorted, (value) => value < t - SAME);

/**
 * How many numbers from the beginning on fulfil what those of the beginning alone fulfil.
 * @param {number[]} sorted
 * @param {(value: number) => boolean} early
 */
function count(sorted, early) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (early(sorted[middle])) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** @param {State} state @returns {State} */
function copy({ lane, last, counts }) {
  return { lane: lane.slice(), last: last.slice(), counts: counts.slice() };
}
