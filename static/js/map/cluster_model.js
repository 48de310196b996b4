// @ts-check
// The cluster of a run at one timepoint, and the change stream that leads to other timepoints. The data comes from
// /map and /map/tape (docs/debugger.md); each change contains how to undo it.

/**
 * @typedef {Record<string, number>} Amounts
 * @typedef {{ id: number, key: string, requests: Amounts, owner: string, priority: number, node: string, state: number,
 *   came: number }} Pod `state`: one of STATES
 * @typedef {{ name: string, allocatable: Amounts, taints: string[], unschedulable: boolean, ready: boolean,
 *   labels: Record<string, string> }} Node
 * @typedef {{ at: number, undo: () => void, redo: () => void, node?: string, was?: string, pod?: Pod,
 *   ghost?: boolean }} Change `ghost`: of a nomination
 * @typedef {{ pod?: Pod, from: string, to: string, ghost?: boolean }} Moved
 * @typedef {{ number: number, at: number, pod: string }} Cycle
 */

export const STATES = ["gone", "pending", "assumed", "bound", "gated", "being deleted"];
export const [GONE, PENDING, , BOUND, GATED, DELETING] = STATES.keys();

export class World {
  /** @param {any} picture response of /map */
  constructor(picture) {
    this.moment = picture.moment;
    this.end = picture.end;
    this.cycles = picture.cycles;
    this.complete = false; // whether nothing is recorded any more, so that `end` is final
    this.before = picture.before;
    this.next = picture.cycle; // the first cycle after the timepoints that the change stream covers
    this.from = picture.moment; // the change stream covers the timepoints after `from` until `to`
    this.to = picture.moment;
    /** @type {Map<string, Node>} */
    this.nodes = new Map();
    /** @type {Map<number, Pod>} */
    this.pods = new Map();
    /** Pods by node, in order of arrival. @type {Map<string, Pod[]>} */
    this.on = new Map();
    /** @type {Change[]} */
    this.tape = [];
    this.place = 0; // number of applied changes of the stream
    /** By number. @type {Map<number, Cycle>} */
    this.cycle = new Map();
    /** @type {{ at: number, t: number }[]} */
    this.instants = [{ at: picture.moment, t: picture.t }];
    /** Node that preemption frees, by pod. @type {Map<string, string>} */
    this.nominated = new Map(Object.entries(picture.nominated ?? {}));
    this.shape = 0; // increases when nodes are added, removed or changed
    this.#read(picture);
  }

  /** @param {any} picture */
  #read({ nodes, pods }) {
    /** @type {Record<string, string>[]} */
    const labels = nodes.name.map(() => ({}));
    for (const [key, { values, of, rows }] of Object.entries(nodes.labels))
      of.forEach((/** @type {number} */ value, /** @type {number} */ index) => {
        if (value >= 0) labels[rows?.[index] ?? index][key] = values[value];
      });
    nodes.name.forEach((/** @type {string} */ name, /** @type {number} */ row) => {
      this.nodes.set(name, {
        name,
        labels: labels[row],
        allocatable: nodes.amounts[nodes.allocatable[row]],
        taints: nodes.taint_sets[nodes.taints[row]],
        unschedulable: Boolean(nodes.unschedulable[row]),
        ready: Boolean(nodes.ready[row]),
      });
    });
    this.#know(pods);
    pods.id.forEach((/** @type {number} */ id, /** @type {number} */ row) => {
      const node = pods.node[row] >= 0 ? nodes.name[pods.node[row]] : "";
      this.#put(/** @type {Pod} */ (this.pods.get(id)), node, pods.state[row], pods.came[row]);
    });
  }

  /** @param {any} columns columns of pods */
  #know(columns) {
    columns.id.forEach((/** @type {number} */ id, /** @type {number} */ row) => {
      if (this.pods.has(id)) return;
      const [requests, owner] = [columns.amounts[columns.requests[row]], columns.owners[columns.owner[row]]];
      const about = { id, key: columns.key[row], requests, owner, priority: columns.priority[row] };
      this.pods.set(id, { ...about, node: "", state: GONE, came: 0 });
    });
  }

  /** @param {Pod} pod @param {string} node @param {number} state @param {number} came */
  #put(pod, node, state, came) {
    const before = this.on.get(pod.node);
    before?.splice(before.indexOf(pod), 1);
    Object.assign(pod, { node, state, came });
    if (!node) return;
    const there = this.on.get(node) ?? [];
    there.splice(there.findLastIndex((other) => other.came <= came) + 1, 0, pod);
    this.on.set(node, there);
  }

  /**
   * Add a piece of the change stream at its start or end.
   * @param {any} piece response of /map/tape @param {boolean} [complete] whether the run was over before it
   */
  add(piece, complete = false) {
    this.complete ||= complete;
    this.end = piece.end;
    this.cycles = piece.total;
    this.#know(piece.pods);
    const changes = [...this.#places(piece.places), ...this.#others(piece)];
    changes.sort((a, b) => a.at - b.at);
    const { number, at, pod } = piece.cycles;
    number.forEach((/** @type {number} */ one, /** @type {number} */ row) => {
      this.cycle.set(one, { number: one, at: at[row], pod: pod[row] });
    });
    const instants = piece.instants.at.map((/** @type {number} */ from, /** @type {number} */ row) => ({
      at: from,
      t: piece.instants.t[row],
    }));
    if (piece.from === this.to) {
      this.tape.push(...changes);
      this.instants.push(...instants);
      this.to = piece.to;
      this.next = (number.at(-1) ?? this.next - 1) + 1;
    } else if (piece.to === this.from) {
      this.tape.unshift(...changes);
      this.instants.unshift(...instants);
      this.place += changes.length;
      this.from = piece.from;
    }
  }

  /** @param {any} places @returns {Change[]} */
  #places(places) {
    return places.at.map((/** @type {number} */ at, /** @type {number} */ row) => {
      const pod = /** @type {Pod} */ (this.pods.get(places.pod[row]));
      const [node, state, came] = [places.node[row], places.state[row], places.came[row]];
      const [before, stood, since] = [places.was_node[row], places.was_state[row], places.was_came[row]];
      const redo = () => this.#put(pod, node, state, came);
      return { at, redo, undo: () => this.#put(pod, before, stood, since), pod, node, was: before };
    });
  }

  /** @param {any} piece @returns {Change[]} */
  #others({ nodes, nominated }) {
    /** @type {Change[]} */
    const found = [];
    for (const { at, name, now, was } of nodes) {
      const set = (/** @type {any} */ node) => {
        this.shape += 1;
        const flags = node && { unschedulable: Boolean(node.unschedulable), ready: Boolean(node.ready) };
        if (node) this.nodes.set(name, { ...node, name, ...flags });
        else this.nodes.delete(name);
      };
      found.push({ at, redo: () => set(now), undo: () => set(was) });
    }
    for (const { at, pod, now, was } of nominated) {
      const set = (/** @type {string} */ node) => (node ? this.nominated.set(pod, node) : this.nominated.delete(pod));
      found.push({ at, redo: () => set(now), undo: () => set(was), node: now, was, ghost: true });
    }
    return found;
  }

  /** Whether the change stream covers a timepoint. @param {number} moment */
  covers(moment) {
    return moment >= this.from && moment <= this.to;
  }

  /**
   * Go to a timepoint that the change stream covers. Return the changes on the way.
   * @param {number} moment @returns {Moved[]} pods that moved, were nominated or changed their state on a node
   */
  go(moment) {
    /** @type {Moved[]} */
    const moved = [];
    while (this.place < this.tape.length && this.tape[this.place].at <= moment) {
      const { redo, pod, node = "", was = "", ghost } = this.tape[this.place];
      const state = pod?.state;
      redo();
      if ((pod || ghost) && (node !== was || pod?.state !== state)) moved.push({ pod, from: was, to: node, ghost });
      this.place += 1;
    }
    while (this.place > 0 && this.tape[this.place - 1].at > moment) {
      this.place -= 1;
      const { undo, pod, node = "", was = "", ghost } = this.tape[this.place];
      const state = pod?.state;
      undo();
      if ((pod || ghost) && (node !== was || pod?.state !== state)) moved.push({ pod, from: node, to: was, ghost });
    }
    this.moment = moment;
    return moved;
  }

  /** Forget how to go back, so that the change stream of a live cluster does not grow. */
  forgetPast() {
    this.tape = [];
    this.place = 0;
    this.from = this.moment;
    for (const [id, { state }] of this.pods) if (state === GONE) this.pods.delete(id);
  }

  /** Return the timepoint before a cycle, if known; `cycles + 1` is the end. @param {number} number */
  beforeCycle(number) {
    if (number === this.cycles + 1) return this.end;
    const at = this.cycle.get(number)?.at;
    return at === undefined ? undefined : at - 1;
  }

  /** Return the first cycle after a timepoint that the change stream covers. @param {number} moment */
  cycleAfter(moment) {
    let found = Infinity;
    for (const { number, at } of this.cycle.values()) if (at > moment && number < found) found = number;
    return found < Infinity ? found : this.next;
  }

  /** Return the last timepoint until a second, if known. @param {number} t */
  afterTime(t) {
    const next = this.instants.findIndex((instant) => instant.t > t);
    if (next === 0 || (next < 0 && this.to < this.end)) return undefined;
    return next < 0 ? this.end : this.instants[next].at - 1;
  }

  /** Return the virtual second of a timepoint that the change stream covers. @param {number} moment */
  timeOf(moment) {
    let [low, high] = [0, this.instants.length];
    while (low + 1 < high) {
      const middle = (low + high) >> 1;
      if (this.instants[middle].at <= moment) low = middle;
      else high = middle;
    }
    return this.instants[low].t;
  }

  /** Return the requested quantity of a resource on a node. @param {string} name @param {string} resource */
  requested(name, resource) {
    const there = this.on.get(name) ?? [];
    if (resource === "pods") return there.length;
    return there.reduce((sum, pod) => sum + (pod.requests[resource] ?? 0), 0);
  }

  /** Return the pods that wait for a node, in order of arrival. @returns {Pod[]} */
  pending() {
    return [...this.pods.values()].filter(({ state }) => state === PENDING);
  }

  /** Return how many pods the run has placed, and how many have no node. @returns {{ placed: number, pending: number }} */
  outcome() {
    let [placed, pending] = [0, 0];
    for (const { node, state, came } of this.pods.values()) {
      if (node && state !== GONE && came >= this.before) placed += 1;
      if (!node && (state === PENDING || state === GATED)) pending += 1;
    }
    return { placed, pending };
  }

  /** Return the number of pods without a node in a state. @param {number} state */
  count(state) {
    return [...this.pods.values()].filter((pod) => pod.state === state && !pod.node).length;
  }

  /** Return the pending pods that are nominated to a node. @param {string} name @returns {Pod[]} */
  ghosts(name) {
    const keys = new Set([...this.nominated].filter(([, node]) => node === name).map(([pod]) => pod));
    return keys.size ? this.pending().filter(({ key }) => keys.has(key)) : [];
  }

  /** Return all resources of nodes, common ones first. */
  resources() {
    const found = new Set(["cpu", "memory"]);
    for (const { allocatable } of this.nodes.values()) for (const name of Object.keys(allocatable)) found.add(name);
    const usual = (/** @type {string} */ name) => ["cpu", "memory", "pods", "ephemeral-storage"].indexOf(name) + 1 || 9;
    return [...found].sort((a, b) => usual(a) - usual(b) || a.localeCompare(b));
  }
}
