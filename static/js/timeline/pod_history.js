// @ts-check
// The history of a pod in virtual time: its stays in queues, what woke it, which pods it displaced, and the order of
// events.
import { clock, span } from "./clock.js";
import { nameIn, nameOf, RESULTS, shortened } from "./labels.js";

/**
 * @typedef {{ pod?: string, node?: string, text?: string }} Cause
 * @typedef {{ t: number, seq: number, from?: string | null, to: string, event?: string, cause?: Cause | null, until?: number | null }} Move
 * @typedef {{ t: number, seq: number, number: number, result: string, came_to?: string, node?: string, nominated_node?: string,
 *   message?: string }} Attempt
 * @typedef {{ t: number, seq: number, type: string, lane?: string, text: string }} Happening
 * @typedef {{ where: string, from_t: number, to_t: number, waiting_for?: string }} Wait
 * @typedef {{ pod: string, node: string, t: number }} Displaced
 * @typedef {{ lane: string, from: number, to: number }} Stay
 */

/**
 * Response of /api/runs/N/pods/.../history.
 * @typedef {object} History
 * @property {Move[]} moves
 * @property {Attempt[]} attempts
 * @property {Happening[]} [happened]
 * @property {Wait[]} [critical_path]
 * @property {Displaced[]} [preempted] pods that this pod displaced
 * @property {Displaced | null} [preempted_by]
 */

/**
 * Return the time ranges in each queue. A pod without an earlier queue existed when the run began and was bound.
 * @param {Move[]} moves @param {Happening[]} happened @param {number} until time that the run has reached, in seconds
 * @returns {Stay[]}
 */
export function staysOf(moves, happened, until) {
  /** @type {{ t: number, seq: number, lane: string }[]} */
  const turns = moves.map(({ t, to, seq }) => ({ t, seq, lane: to }));
  for (const { t, seq, lane } of happened) if (lane) turns.push({ t, seq, lane });
  turns.sort((a, b) => a.t - b.t || a.seq - b.seq);
  if (turns[0]?.lane === "gone" || (!turns.length && happened.length)) turns.unshift({ t: 0, seq: 0, lane: "bound" });
  const last = Math.max(until, turns.at(-1)?.t ?? 0);
  const stays = turns.map(({ t, lane }, index) => ({
    lane: lane === "popped" ? "waiting" : lane,
    from: t,
    to: turns[index + 1]?.t ?? last,
  }));
  return stays.filter(({ lane, from, to }) => to > from && lane !== "gone");
}

/**
 * Return the range in which the pod waited, and a little of what follows: [from, to] in seconds.
 * @param {Stay[]} stays @param {number} begin @param {number} end @returns {[number, number]}
 */
export function waitedOf(stays, begin, end) {
  const last = stays.findLast(({ lane }) => lane !== "bound");
  return last ? [begin, Math.min(end, last.to + (last.to - begin) * 0.12)] : [begin, end];
}

/**
 * Return what woke the pod and which pods displaced it: displacements first, then by time.
 * @param {Move[]} moves @param {Displaced[]} by
 */
export function wakings(moves, by) {
  const found = moves
    .filter(({ from, to }) => from && from !== "popped" && ["active", "backoff"].includes(to))
    .map((move) => ({
      t: move.t,
      text: [move.event, shortened(nameIn(move.cause?.pod || move.cause?.node || ""), 22)].filter(Boolean).join(": "),
      title: because(move),
      pod: move.cause?.pod,
      strong: false,
    }));
  for (const { pod, t } of by)
    found.push({ t, text: `displaced by ${nameIn(pod)}`, title: `${pod} took its place`, pod, strong: true });
  return found.sort((a, b) => Number(b.strong) - Number(a.strong) || a.t - b.t);
}

/** @param {Move} move */
function because({ t, event, cause }) {
  const why = cause?.text || cause?.pod;
  return `${clock(t)} ${event ?? ""}${why ? `: ${why}` : ""}`;
}

/**
 * Return tone and text of the result of an attempt after Permit and binding.
 * @param {Attempt} attempt @returns {[tone: string, words: string]}
 */
export const outcomeOf = ({ came_to, result }) => RESULTS[came_to || result] ?? ["", came_to || result];

/** Return the result as text: "placed on n1". @param {Attempt} attempt */
export const resultOf = (attempt) =>
  `${outcomeOf(attempt)[1].replace(/^\S+ /, "")}${attempt.node ? ` on ${attempt.node}` : ""}`;

/**
 * Return attempts, moves and events outside the queue, in order.
 * @param {History} history @returns {{ t: number, seq: number, move?: Move, attempt?: Attempt, event?: Happening }[]}
 */
export function rowsOf({ moves, attempts, happened = [] }) {
  const rows = [
    ...moves.map((move) => ({ t: move.t, seq: move.seq, move })),
    ...attempts.map((attempt) => ({ t: attempt.t, seq: attempt.seq, attempt })),
    ...happened.map((event) => ({ t: event.t, seq: event.seq, event })),
  ];
  return rows.sort((a, b) => a.t - b.t || a.seq - b.seq);
}

/** Return the waits that took time. @param {History} history */
export const waitsOf = ({ critical_path = [] }) => critical_path.filter(({ from_t, to_t }) => to_t > from_t);

/** @param {Wait} wait */
const length = ({ from_t, to_t }) => to_t - from_t;

/** Summarise in a sentence or two where the time went. @param {History} history */
export function summaryOf(history) {
  const { moves, attempts, happened = [] } = history;
  const waits = waitsOf(history);
  const placed = happened.some(({ type }) => type === "pod.bound");
  if (!attempts.length && !moves.length) return "The pod was never in the queue.";
  const tries = attempts.length === 1 ? "one attempt" : `${attempts.length} attempts`;
  if (!waits.length) return placed ? `Placed without waiting, in ${tries}.` : `The pod did not wait; ${tries}.`;
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const wait of waits) sums.set(wait.where, (sums.get(wait.where) ?? 0) + length(wait));
  const parts = [...sums].sort((a, b) => b[1] - a[1]).map(([where, seconds]) => `${span(seconds)} ${nameOf(where)}`);
  const longest = waits.reduce((a, b) => (length(b) > length(a) ? b : a));
  const why = longest.waiting_for ? ` The longest wait, ${span(length(longest))}: ${longest.waiting_for}.` : "";
  const total = span(waits.reduce((sum, wait) => sum + length(wait), 0));
  return `${placed ? "Waited" : "Has waited"} ${total} over ${tries}: ${parts.join(", ")}.${why}`;
}
