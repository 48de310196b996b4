// @ts-check
// A window of a run in virtual time: the queue of each pod at any time in it.

const KEPT_EVERY = 4096; // moves between two stored states; reaching any time replays at most this many
const SAME = 1e-9; // seconds; times that differ by less are equal

/**
 * Response of /api/runs/N/lanes/stretch.
 * @typedef {object} Answer
 * @property {number} from seconds
 * @property {number} to seconds: start of the next window, or the time that the run has reached
 * @property {string[]} lanes
 * @property {string[]} pods "namespace/name" of pods that move in this window, and the newest other pods of each queue
 * @property {number[]} counts size of each queue at the start, of all pods
 * @property {number[][]} there per queue: indexes into `pods` of those in it at the start, newest last
 * @property {{ t: number[], pod: number[], lane: number[], seq: number[] }} moves columns
 * @property {number[]} moments times of events, in order
 * @property {number} last_seq number of the last event that the window considers
 */

/**
 * State of the queues.
 * @typedef {object} State
 * @property {Int8Array} lane per pod: its queue, -1 before it has one
 * @property {Int32Array} last per pod: its latest move, negative if before the window
 * @property {Int32Array} counts per queue: number of pods
 */

export class Stretch {
  /** @param {Answer} answer */
  constructor({ from, to, lanes, pods, counts, there, moves, moments, last_seq }) {
    this.lastSeq = last_seq;
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
        state.last[pod] = place - inside.length; // the newest pod of a queue has -1
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

  /** Whether the window contains the time. Only the last window includes its end. @param {number} t */
  holds(t) {
    return t >= this.from - SAME && (t < this.to - SAME || (t <= this.to + SAME && this.moments.at(-1) === this.to));
  }

  /** @param {State} state @param {number} index of a move */
  apply(state, index) {
    const pod = this.moves.pod[index];
    const lane = this.moves.lane[index];
    if (state.lane[pod] >= 0) state.counts[state.lane[pod]] -= 1;
    state.counts[lane] += 1;
    state.lane[pod] = lane;
    state.last[pod] = index;
  }

  /** Return the number of moves until t, and until an event. @param {number} t seconds @param {number} seq */
  done(t, seq) {
    return Math.min(
      upper(this.moves.t, t),
      count(this.moves.seq, (value) => value <= seq),
    );
  }

  /**
   * Return the queue of each pod at t, after an event, and the number of moves until then.
   * @param {number} t seconds @param {number} [seq]
   */
  at(t, seq = Infinity) {
    const done = this.done(t, seq);
    const nearest = Math.min(this.kept.length - 1, Math.floor(done / KEPT_EVERY));
    const state = copy(this.kept[nearest]);
    for (let index = nearest * KEPT_EVERY; index < done; index += 1) this.apply(state, index);
    return { ...state, done };
  }

  /**
   * Return the newest pods of each queue, newest first, at most `most` per queue.
   * @param {State & { done: number }} state @param {number} most
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
   * Return queue -> pods that entered it at the last event until `t`, and within the given seconds before it.
   * @param {number} t @param {number} seconds @param {number} [seq] the last event that counts
   */
  recent(t, seconds, seq = Infinity) {
    /** @type {Map<number, Set<number>>} */
    const found = new Map();
    const { moves } = this;
    const since = (this.moments[upper(this.moments, t) - 1] ?? t) - seconds;
    for (let index = this.done(t, seq) - 1; index >= 0 && moves.t[index] >= since - SAME; index -= 1) {
      const lane = moves.lane[index];
      if (!found.has(lane)) found.set(lane, new Set());
      found.get(lane)?.add(moves.pod[index]);
    }
    return found;
  }

  /** Return the previous event time, or null if it is outside the window. @param {number} t */
  before(t) {
    return this.moments[lower(this.moments, t) - 1] ?? null;
  }

  /** Return the next event time. After the last one, return the start of the next window. @param {number} t */
  after(t) {
    return this.moments[upper(this.moments, t)] ?? this.to;
  }
}

/** Return how many of the sorted numbers are at most `t`. @param {number[]} sorted @param {number} t */
const upper = (sorted, t) => count(sorted, (value) => value <= t + SAME);

/** Return how many of the sorted numbers are below `t`. @param {number[]} sorted @param {number} t */
const lower = (sorted, t) => count(sorted, (value) => value < t - SAME);

/**
 * Return how many numbers at the start satisfy `early`, which must hold for a prefix only.
 * @param {number[]} sorted @param {(value: number) => boolean} early
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
