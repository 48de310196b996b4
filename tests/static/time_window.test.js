import assert from "node:assert/strict";
import { test } from "node:test";
import { Stretch } from "../../static/js/timeline/time_window.js";
import { maps, seeded } from "./helpers.js";

const LANES = ["active", "backoff", "unschedulable", "bound"];
const [ACTIVE, BACKOFF, UNSCHEDULABLE, BOUND] = LANES.keys();

// `moves`: [t, pod, queue] in order. `there`: queue -> pods in it at the start.
function stretch(moves, { pods = ["d/a", "d/b", "d/c"], there = {}, counts, from = 0, to = 10, ...more } = {}) {
  const inside = LANES.map((_, lane) => there[lane] ?? []);
  return new Stretch({
    from,
    to,
    lanes: LANES,
    pods,
    there: inside,
    counts: counts ?? inside.map((some) => some.length),
    moves: {
      t: moves.map(([t]) => t),
      pod: moves.map(([, pod]) => pod),
      lane: moves.map(([, , lane]) => lane),
      seq: moves.map((_, seq) => seq),
    },
    moments: [...new Set([from, ...moves.map(([t]) => t), to])],
    ...more,
  });
}

// a is created, fails, waits and is bound; b is created at the same time and stays.
const SMALL = [
  [0, 0, ACTIVE],
  [0, 1, ACTIVE],
  [1, 0, UNSCHEDULABLE],
  [5, 0, BACKOFF],
  [6, 0, BOUND],
];

test("a pod is in the queue of its latest move", () => {
  const found = stretch(SMALL);
  for (const [t, lanes, done] of [
    [-1, [-1, -1, -1], 0],
    [0, [ACTIVE, ACTIVE, -1], 2],
    [0.999, [ACTIVE, ACTIVE, -1], 2],
    [1, [UNSCHEDULABLE, ACTIVE, -1], 3],
    [5.5, [BACKOFF, ACTIVE, -1], 4],
    [100, [BOUND, ACTIVE, -1], 5],
  ]) {
    const state = found.at(t);
    assert.deepEqual([...state.lane], lanes, `at ${t}`);
    assert.equal(state.done, done, `at ${t}`);
  }
  assert.deepEqual([...found.at(1).counts], [1, 0, 1, 0]);
});

test("pods bound at the start are counted", () => {
  // A thousand pods are bound. Two are named: one that leaves and the newest that stays.
  const found = stretch([[3, 1, BACKOFF]], { there: { [BOUND]: [1, 2] }, counts: [0, 0, 0, 1000] });
  assert.deepEqual([...found.at(0).counts], [0, 0, 0, 1000]);
  assert.deepEqual(found.newest(found.at(0), 24)[BOUND], [2, 1]);
  assert.deepEqual([...found.at(3).counts], [0, 1, 0, 999]);
  const newest = found.newest(found.at(3), 24);
  assert.deepEqual([newest[BOUND], newest[BACKOFF]], [[2], [1]]);
});

test("a pod that returns to a queue is its newest", () => {
  const moves = [
    [1, 0, ACTIVE],
    [2, 0, BOUND],
  ];
  const found = stretch(moves, { there: { [BOUND]: [0, 1, 2] } });
  assert.deepEqual(found.newest(found.at(0), 2)[BOUND], [2, 1]);
  assert.deepEqual(found.newest(found.at(1), 9)[BOUND], [2, 1]);
  assert.deepEqual(found.newest(found.at(2), 9)[BOUND], [0, 2, 1]);
  assert.deepEqual(found.newest(found.at(2), 1)[BOUND], [0]);
});

test("any time equals a replay of all moves", () => {
  const random = seeded(7);
  const pods = Array.from({ length: 300 }, (_, index) => `d/p${index}`);
  const there = { [BOUND]: Array.from({ length: 100 }, (_, index) => index) };
  let t = 0;
  const moves = Array.from({ length: 20_000 }, () => {
    t += random(3) / 10;
    return [t, random(300), random(4)];
  });
  const found = stretch(moves, { pods, there, to: t + 2 });
  for (const at of [0, 0.05, t / 3, t / 2, moves[4095][0], moves[4096][0], moves[8191][0], t, t + 1]) {
    const lane = new Int8Array(300).fill(-1);
    lane.fill(BOUND, 0, 100);
    for (const move of moves) if (move[0] <= at + 1e-9) lane[move[1]] = move[2];
    const state = found.at(at);
    assert.deepEqual(state.lane, lane);
    for (const index of LANES.keys()) assert.equal(state.counts[index], lane.filter((one) => one === index).length);
    found.newest(state, 24).forEach((newest, index) => {
      assert.equal(newest.length, Math.min(24, state.counts[index]));
      assert.ok(newest.every((pod) => lane[pod] === index));
      assert.ok(newest.every((pod, place) => !place || state.last[pod] < state.last[newest[place - 1]]));
    });
  }
});

test("pods that moved at the last time, and shortly before", () => {
  const found = stretch(SMALL, { moments: [0, 1, 3, 5, 6, 10] });
  assert.deepEqual([...found.recent(2, 0)], [[UNSCHEDULABLE, new Set([0])]]);
  const recent = Object.fromEntries(found.recent(1, 1));
  assert.deepEqual(recent, { [UNSCHEDULABLE]: new Set([0]), [ACTIVE]: new Set([0, 1]) });
  assert.equal(found.recent(3.5, 0).size, 0, "the event at 3 moved no pod");
  assert.equal(found.recent(-1, 1).size, 0);
});

test("stepping goes from time to time, and beyond the edges to the next interval", () => {
  const found = stretch(SMALL);
  assert.equal(found.after(0), 1);
  assert.equal(found.after(3), 5);
  assert.equal(found.before(3), 1);
  assert.equal(found.after(6), 10);
  assert.equal(found.after(10), 10);
  assert.equal(found.before(0), null);
  const middle = stretch([[4, 0, ACTIVE]], { from: 4, to: 9, moments: [4] });
  assert.equal(middle.after(4), 9);
  assert.equal(middle.before(4), null);
});

test("a time belongs to the interval that starts with it, and the end of the run to the last", () => {
  const first = stretch([[0, 0, ACTIVE]], { to: 4, moments: [0] });
  const last = stretch([[4, 0, BOUND]], { from: 4, to: 9, moments: [4, 9] });
  maps((t) => first.holds(t), [0, 3.999, 4, 9, 9.1], [true, true, false, false, false]);
  maps((t) => last.holds(t), [0, 3.999, 4, 9, 9.1], [false, false, true, true, false]);
});

test("a run without moves", () => {
  const empty = stretch([], { pods: [], to: 0, moments: [0] });
  assert.deepEqual([...empty.at(0).counts], [0, 0, 0, 0]);
  assert.equal(empty.recent(0, 5).size, 0);
  assert.ok(empty.holds(0));
});

test("names include the namespace if there are several", () => {
  assert.equal(stretch(SMALL).oneNamespace, true);
  assert.equal(stretch(SMALL, { pods: ["d/a", "e/b", "d/c"] }).oneNamespace, false);
});
