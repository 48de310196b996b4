// The tables of a pod's timeline: where its time went, and every attempt and move with its cause.

import { button, el } from "../dom.js";
import { number } from "../format.js";
import { clock, span } from "./clock.js";
import { swatch } from "./drawing.js";
import { exact, nameOf, podAddress } from "./labels.js";
import { outcomeOf, rowsOf, summaryOf, waitsOf } from "./pod_history.js";
import { attemptAddress } from "./pod_timeline_chart.js";

const ROWS = 400;

export function fillTables(box, history) {
  const writer = new Writer(box, history);
  const rows = rowsOf(history);
  box.querySelector("[data-rows]").replaceChildren(...rows.slice(0, ROWS).map((row) => writer.row(row)));
  const more = rows.length > ROWS ? `The first ${ROWS} of ${number.format(rows.length)}.` : "";
  box.querySelector("[data-more]").textContent = more;
  const waits = waitsOf(history).map(waitRow);
  const none = el("tr", {}, el("td", { colspan: 4, class: "muted", text: "The pod never waited." }));
  box.querySelector("[data-path]").replaceChildren(...(waits.length ? waits : [none]));
  box.querySelector("[data-summary]").textContent = summaryOf(history);
}

function waitRow({ where, from_t, to_t, waiting_for }) {
  return el(
    "tr",
    {},
    el("td", { class: "nowrap" }, swatch(where), ` ${nameOf(where)}`),
    el("td", { class: "num", text: span(to_t - from_t) }),
    el("td", { class: "num", text: `${clock(from_t)} – ${clock(to_t)}` }),
    el("td", { class: "msg", text: waiting_for || "" }),
  );
}

const time = (t) =>
  el("th", { scope: "row", class: "num" }, el("a", { href: `?t=${exact(t)}`, "data-t": t, text: clock(t) }));

// Button that opens the provenance of a move's time, or of the end of the stay that it began (provenance.js).
const whence = (seq, text, label, until = false) =>
  button(text, {
    class: "quiet tiny",
    "data-from": "queue",
    "data-move": seq,
    "data-until": until ? "true" : "",
    "aria-label": `${label}${until ? `: ${text}` : ""}`,
  });

class Writer {
  constructor(box, { preempted_by }) {
    this.own = box.dataset.pod;
    this.pods = box.dataset.pods;
    this.by = preempted_by ? [preempted_by] : [];
  }

  row({ move, attempt, event }) {
    if (attempt) return this.attempt(attempt);
    return move ? this.move(move) : this.event(event);
  }

  attempt(attempt) {
    const nominated = attempt.nominated_node && attempt.result === "unschedulable";
    const [tone, word] = nominated ? ["live", `⇢ nominated ${attempt.nominated_node}`] : outcomeOf(attempt);
    const link = el("a", { href: attemptAddress(attempt), text: `Attempt ${attempt.number}` });
    const what = el("td", { class: "nowrap" }, link, " ", el("span", { class: `badge ${tone}`, text: word }));
    const node = attempt.node ? el("span", { class: "mono", text: attempt.node }) : "";
    const why = el("td", { class: "msg" }, node, attempt.message ?? "");
    return el("tr", { "data-at": attempt.t, "data-attempt": attempt.number }, time(attempt.t), what, why);
  }

  event({ t, type, lane, text }) {
    const what = lane ? [swatch(lane), ` ${nameOf(lane)}`] : [type.replace("pod.", "").replace(".", " ")];
    const rest = text.replace(this.own, "").trim();
    const pod = this.by.find((other) => rest.includes(other.pod))?.pod;
    const why = el("td", { class: "msg" }, ...this.linked({ pod, text: rest }, t));
    return el("tr", { "data-at": t }, time(t), el("td", { class: "nowrap" }, ...what), why);
  }

  move({ t, seq, from, to, event, cause, until }) {
    const what = el("td", { class: "nowrap" }, swatch(to), ` ${from ? `${nameOf(from)} → ` : ""}${nameOf(to)}`);
    if (until) what.append(", until ", whence(seq, clock(until), "How the end is computed", true));
    const why = el("td", { class: "msg" }, ...(event ? [el("span", { class: "chip", text: event })] : []));
    if (cause) why.append(" ", ...this.linked(cause, t));
    why.append(" ", whence(seq, "explain", `How the time ${clock(t)} is computed`));
    return el("tr", { "data-at": t }, time(t), what, why);
  }

  // Returns the text of a cause, with its pod as a link.
  linked({ pod, text }, t) {
    if (!pod || pod === this.own || !text.includes(pod)) return [text];
    const at = text.indexOf(pod);
    const link = el("a", { class: "mono tiny", href: podAddress(this.pods, pod, t), text: pod });
    return [text.slice(0, at), link, text.slice(at + pod.length)];
  }
}
