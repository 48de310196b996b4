import assert from "node:assert/strict";
import { test } from "node:test";
import * as history from "../../static/js/timeline/pod_history.js";
import { maps } from "./helpers.js";

const { resultOf, rowsOf, staysOf, summaryOf, waitedOf, wakings } = history;

let seq = 0;
const move = (t, from, to, more = {}) => ({ t, seq: ++seq, from, to, ...more });
const wait = (where, from_t, to_t, waiting_for) => ({ where, from_t, to_t, waiting_for });

const MOVES = [
  move(0, null, "active"),
  move(0, "active", "popped"),
  move(0, "popped", "unschedulable"),
  move(8, "unschedulable", "backoff", { event: "NodeAdd", cause: { node: "n9", text: "node n9 was added" } }),
  move(10, "backoff", "active", { event: "BackoffComplete" }),
  move(10, "active", "popped"),
];
const BOUND = { t: 12, seq: 99, type: "pod.bound", lane: "bound", text: "d/a was bound to n9" };

test("a pod is in one queue after the other; intervals of no length are left out", () => {
  assert.deepEqual(staysOf(MOVES, [BOUND], 30), [
    { lane: "unschedulable", from: 0, to: 8 },
    { lane: "backoff", from: 8, to: 10 },
    { lane: "waiting", from: 10, to: 12 },
    { lane: "bound", from: 12, to: 30 },
  ]);
});

test("a pod bound at the start stays bound until it is deleted", () => {
  const gone = { t: 5, seq: 1, type: "pod.deleted", lane: "gone", text: "d/a is gone" };
  assert.deepEqual(staysOf([], [gone], 30), [{ lane: "bound", from: 0, to: 5 }]);
  const evicted = { t: 5, seq: 1, type: "pod.evicted", text: "d/a is evicted" };
  assert.deepEqual(staysOf([], [evicted], 30), [{ lane: "bound", from: 0, to: 30 }]);
  assert.deepEqual(staysOf([], [], 30), []);
});

test("the visible interval ends shortly after the last wait, not with the run", () => {
  const stays = staysOf(MOVES, [BOUND], 1000);
  const [from, to] = waitedOf(stays, 0, 1000);
  assert.equal(from, 0);
  assert.ok(to > 12 && to < 15);
  assert.deepEqual(waitedOf([{ lane: "bound", from: 0, to: 9 }], 0, 9), [0, 9]);
  assert.deepEqual(waitedOf(stays, 0, 12), [0, 12]);
});

test("the event that woke the pod is named; its own attempts do not wake it", () => {
  const found = wakings(MOVES, [{ pod: "d/king", t: 20, node: "n1" }]);
  const expected = ["20 displaced by king true", "8 NodeAdd: n9 false", "10 BackoffComplete false"];
  maps(({ t, text, strong }) => `${t} ${text} ${strong}`, found, expected);
  assert.equal(found[1].title, "8 s NodeAdd: node n9 was added");
  assert.equal(found[2].title, "10 s BackoffComplete");
});

test("rows are ordered by time and event number", () => {
  const attempts = [{ t: 0, seq: 2.5, number: 1, result: "unschedulable" }];
  const rows = rowsOf({ moves: MOVES.map((one, index) => ({ ...one, seq: index + 1 })), attempts, happened: [BOUND] });
  const expected = ["active", "popped", "attempt", "unschedulable", "backoff", "active", "popped", "event"];
  maps((row) => ("attempt" in row ? "attempt" : "event" in row ? "event" : row.move.to), rows, expected);
});

test("a sentence describes where the time went", () => {
  const attempt = { t: 0, seq: 1, number: 1, result: "unschedulable" };
  const two = [attempt, { t: 10, seq: 2, number: 2, result: "scheduled", node: "n9" }];
  const critical_path = [wait("active", 0, 0), wait("unschedulable", 0, 8, "a node with cpu"), wait("backoff", 8, 10)];
  const waited = { moves: MOVES, attempts: two, happened: [BOUND], critical_path };
  const text = "Waited 10 s over 2 attempts: 8 s unschedulable, 2 s backoff. The longest wait, 8 s: a node with cpu.";
  assert.equal(summaryOf(waited), text);
  assert.match(summaryOf({ ...waited, happened: [] }), /^Has waited 10 s/);
  const placed = { moves: MOVES, attempts: [attempt], happened: [BOUND] };
  assert.equal(summaryOf(placed), "Placed without waiting, in one attempt.");
  assert.equal(summaryOf({ moves: [], attempts: [] }), "The pod was never in the queue.");
  assert.equal(resultOf(two[1]), "placed on n9");
  assert.equal(resultOf(two[0]), "no node");
  assert.equal(resultOf({ ...two[0], result: "new" }), "new");
  assert.equal(resultOf({ ...two[1], came_to: "unbound" }), "binding failed on n9");
});
