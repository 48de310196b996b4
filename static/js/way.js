// The way of a pod through virtual time: where it waited, what woke it, its attempts, whom it displaced or who displaced it.
import { LANES, clock, el, nameOf, patterns, podAddress, remembered, remember, shortened, span, svg, swatch, ticks } from "./virtual.js";

const BAR = { y: 74, height: 28 };
const ROWS = 400;
const VICTIMS = 6;
const RESULT = { scheduled: ["ok", "✓ placed"], unschedulable: ["bad", "✕ no node"], gated: ["warn", "◆ gated"], error: ["odd", "! error"], waiting: ["live", "⋯ waits in Permit"] };
const number = new Intl.NumberFormat("en");

class Way {
  constructor(box, history) {
    this.box = box;
    this.moves = history.moves;
    this.attempts = history.attempts;
    this.happened = history.happened ?? [];
    this.path = history.critical_path ?? [];
    this.preempted = history.preempted ?? [];
    this.by = [history.preempted_by ?? []].flat();
    this.stays = this.lanes(Number(box.dataset.until) || 0);
    this.begin = this.stays[0]?.from ?? 0;
    this.end = Math.max(this.stays.at(-1)?.to ?? 0, this.begin);
    this.picture = box.querySelector(".way");
    this.t = remembered();
  }

  // Stretches of time in one lane each. What had no lane before (it was there when the run began) was bound.
  lanes(until) {
    const turns = [...this.moves.map(({ t, to, seq }) => ({ t, seq, lane: to })), ...this.happened.filter(({ lane }) => lane)];
    turns.sort((a, b) => a.t - b.t || a.seq - b.seq);
    if (turns[0]?.lane === "gone" || (!turns.length && this.happened.length)) turns.unshift({ t: 0, lane: "bound" });
    const last = Math.max(until, turns.at(-1)?.t ?? 0);
    return turns.map(({ t, lane }, index) => ({ lane: lane === "popped" ? "waiting" : lane, from: t, to: turns[index + 1]?.t ?? last })).filter(({ lane, from, to }) => to > from && lane !== "gone");
  }

  // The part in which the pod waited, with a little of what follows.
  waited() {
    const stays = this.stays.filter(({ lane }) => lane !== "bound");
    if (!stays.length) return [this.begin, this.end];
    const to = stays.at(-1).to;
    return [this.begin, Math.min(this.end, to + (to - this.begin) * 0.12)];
  }

  show() {
    const [from, to] = this.waited();
    const choice = this.box.querySelector("[data-range]");
    this.range = [this.begin, this.end];
    if (to < this.end && to > from) {
      choice.hidden = false;
      const pressed = (button) => {
        for (const other of choice.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button));
        this.range = button.dataset.part === "waited" ? [from, to] : [this.begin, this.end];
        this.draw();
      };
      choice.addEventListener("click", (event) => { const button = event.target.closest("button"); if (button) pressed(button); });
      pressed(choice.querySelector(this.by.length ? '[data-part="whole"]' : '[data-part="waited"]'));
    }
    this.legend();
    this.table();
    this.critical();
    new ResizeObserver(() => this.draw()).observe(this.picture.parentElement);
    this.mark();
  }

  x(t) {
    const [from, to] = this.range;
    return 10 + ((t - from) / (to - from || 1)) * (this.width - 20);
  }

  seen(t) { return t >= this.range[0] - 1e-9 && t <= this.range[1] + 1e-9; }

  draw() {
    this.width = Math.max(300, Math.round(this.picture.parentElement.clientWidth));
    const victims = this.victims();
    const causes = this.causes();
    const bottom = BAR.y + BAR.height + 34 + victims.height;
    this.picture.setAttribute("width", this.width);
    this.picture.setAttribute("height", bottom + 24);
    const now = this.t !== null && this.seen(this.t) ? [svg("line", { x1: this.x(this.t), x2: this.x(this.t), y1: BAR.y - 6, y2: bottom, class: "now" })] : [];
    this.picture.replaceChildren(patterns(), ...this.bar(), ...causes, ...now, ...victims.parts, ...this.markers(), ...this.axis(bottom));
  }

  bar() {
    const parts = [];
    for (const { lane, from, to } of this.stays) {
      if (to < this.range[0] || from > this.range[1]) continue;
      const left = this.x(Math.max(from, this.range[0]));
      const width = Math.max(1.5, this.x(Math.min(to, this.range[1])) - left);
      const box = svg("rect", { x: left, y: BAR.y, width, height: BAR.height, fill: `url(#lane-${lane})`, class: "segment" });
      box.append(svg("title", {}, `${nameOf(lane)} for ${span(to - from)}, from ${clock(from)} to ${clock(to)}`));
      parts.push(box);
      const text = [`${nameOf(lane)} ${span(to - from)}`, nameOf(lane)].find((words) => words.length * 6.6 + 10 < width);
      if (text) parts.push(svg("text", { x: left + width / 2, y: BAR.y + 18, "text-anchor": "middle", class: "inside" }, text));
    }
    return parts;
  }

  // What woke the pod, and who displaced it: a label above, an arrow down. Labels that find no room leave their arrow.
  causes() {
    const woken = this.moves.filter((move) => move.from && move.from !== "popped" && ["active", "backoff"].includes(move.to) && this.seen(move.t));
    const found = woken.map((move) => ({ t: move.t, text: [move.event, shortened(nameIn(move.cause?.pod || move.cause?.node || ""), 22)].filter(Boolean).join(": "), title: because(move), pod: move.cause?.pod, strong: false }));
    for (const one of this.by) if (one.pod && this.seen(one.t ?? 0)) found.push({ t: one.t ?? 0, text: `displaced by ${nameIn(one.pod)}`, title: `${one.pod} took its place`, pod: one.pod, strong: true });
    found.sort((a, b) => Number(b.strong) - Number(a.strong) || a.t - b.t);
    const levels = [[], [], []];
    const parts = [];
    for (const cause of found) {
      const x = this.x(cause.t);
      const text = shortened(cause.text, 52);
      const wide = text.length * 6.1 + 10;
      const left = Math.min(Math.max(2, x - wide / 2), this.width - wide - 2);
      const level = levels.findIndex((taken) => taken.every(([a, b]) => left > b || left + wide < a));
      const top = level < 0 ? BAR.y - 12 : 16 + level * 17;
      const arrow = svg("path", { d: `M${x} ${top + 3}V${BAR.y - 1}`, class: cause.strong ? "arrow strong" : "arrow" });
      arrow.append(svg("title", {}, cause.title));
      parts.unshift(arrow);
      if (level < 0) continue;
      levels[level].push([left, left + wide]);
      parts.push(this.name(text, left + wide / 2, top, cause.pod, cause.t, cause.title));
    }
    return parts;
  }

  name(text, x, y, pod, t, title) {
    const label = svg("text", { x, y, "text-anchor": "middle", class: "who" }, text);
    label.append(svg("title", {}, title));
    if (!pod || pod === this.box.dataset.pod) return label;
    const link = svg("a", { href: `${podAddress(this.box.dataset.pods, pod)}?t=${Number(t.toFixed(3))}`, "aria-label": title });
    link.append(label);
    return link;
  }

  // Whom the pod displaced: arrows from the attempt down to each name.
  victims() {
    const groups = Map.groupBy(this.preempted.map((one) => (typeof one === "string" ? { pod: one } : one)), (one) => one.t ?? this.attempts.find(({ result }) => result !== "scheduled")?.t ?? this.begin);
    const parts = [];
    let height = 0;
    for (const [t, group] of groups) {
      if (!this.seen(t)) continue;
      const x = this.x(t);
      const right = x < this.width * 0.6;
      const start = BAR.y + BAR.height + 20;
      const shown = group.slice(0, VICTIMS);
      shown.forEach((victim, index) => {
        const y = start + 26 + height + index * 18;
        const edge = right ? x + 34 : x - 34;
        const arrow = svg("path", { d: `M${x} ${start}C${x} ${y} ${x} ${y} ${edge} ${y}`, class: "arrow strong" });
        const title = `${victim.pod} was evicted${victim.node ? ` from ${victim.node}` : ""} for this pod`;
        arrow.append(svg("title", {}, title));
        const label = this.name(`evicts ${shortened(nameIn(victim.pod), 34)}`, 0, y + 4, victim.pod, t, title);
        const text = label.querySelector("text") ?? label;
        text.setAttribute("x", right ? edge + 5 : edge - 5);
        text.setAttribute("text-anchor", right ? "start" : "end");
        parts.push(arrow, label);
      });
      height += shown.length * 18;
      if (group.length > VICTIMS) {
        height += 18;
        parts.push(svg("text", { x: right ? x + 39 : x - 39, y: start + 12 + height, "text-anchor": right ? "start" : "end" }, `and ${group.length - VICTIMS} more`));
      }
    }
    return { parts, height: height ? height + 22 : 0 };
  }

  markers() {
    let before = -Infinity;
    return this.attempts.filter(({ t }) => this.seen(t)).map((attempt) => {
      const x = this.x(attempt.t);
      const room = x - before > 21;
      if (room) before = x;
      const tone = RESULT[attempt.result]?.[0] ?? "";
      const y = BAR.y + BAR.height + 11;
      const link = svg("a", { href: attemptAddress(attempt), class: `attempt ${tone}`, "aria-label": `Attempt ${attempt.number} at ${clock(attempt.t)}: ${said(attempt)}` });
      if (room) link.append(svg("circle", { cx: x, cy: y, r: 9 }), svg("text", { x, y: y + 3.5, "text-anchor": "middle" }, attempt.number > 99 ? "·" : String(attempt.number)));
      else link.append(svg("circle", { cx: x, cy: y + 15, r: 3 }));
      link.append(svg("title", {}, `Attempt ${attempt.number} at ${clock(attempt.t)}: ${said(attempt)}`));
      return link;
    });
  }

  axis(y) {
    const parts = [svg("line", { x1: 0, x2: this.width, y1: y, y2: y, class: "axis-line" })];
    for (const t of ticks(...this.range, Math.max(2, this.width / 90))) {
      const x = this.x(t);
      parts.push(svg("line", { x1: x, x2: x, y1: y, y2: y + 4, class: "tick" }), svg("text", { x, y: y + 17, "text-anchor": x < 24 ? "start" : x > this.width - 24 ? "end" : "middle" }, clock(t)));
    }
    return parts;
  }

  legend() {
    const lanes = [...new Set(this.stays.map(({ lane }) => lane))];
    this.box.querySelector("[data-legend]").replaceChildren(
      ...lanes.map((lane) => el("span", { title: LANES[lane] }, swatch(lane), lane)),
      el("span", { text: "① attempt" }), el("span", { text: "↓ what woke it" }),
    );
  }

  // Attempts and moves in the order in which they happened.
  table() {
    const rows = [...this.moves.map((move) => ({ t: move.t, seq: move.seq, move })), ...this.attempts.map((attempt) => ({ t: attempt.t, seq: attempt.seq, attempt })), ...this.happened.map((event) => ({ t: event.t, seq: event.seq, event }))];
    rows.sort((a, b) => a.t - b.t || a.seq - b.seq);
    const body = this.box.querySelector("[data-rows]");
    body.replaceChildren(...rows.slice(0, ROWS).map((row) => this.row(row)));
    if (rows.length > ROWS) this.box.querySelector("[data-more]").textContent = `The first ${ROWS} of ${number.format(rows.length)}.`;
  }

  time(t) { return el("th", { scope: "row", class: "num" }, el("a", { href: `?t=${Number(t.toFixed(3))}`, "data-t": t, text: clock(t) })); }

  attemptRow(attempt) {
    const [tone, word] = attempt.nominated_node && attempt.result === "unschedulable" ? ["live", `⇢ nominated ${attempt.nominated_node}`] : RESULT[attempt.result] ?? ["", attempt.result];
    const what = el("td", { class: "nowrap" }, el("a", { href: attemptAddress(attempt), text: `Attempt ${attempt.number}` }), " ", el("span", { class: `badge ${tone}`, text: word }));
    const node = attempt.node ? el("span", { class: "mono", text: attempt.node }) : "";
    return el("tr", { "data-at": attempt.t, "data-attempt": attempt.number }, this.time(attempt.t), what, el("td", { class: "msg" }, node, attempt.message ?? ""));
  }

  row({ move, attempt, event }) {
    if (attempt) return this.attemptRow(attempt);
    return move ? this.moveRow(move) : this.eventRow(event);
  }

  eventRow({ t, type, lane, text }) {
    const what = el("td", { class: "nowrap" }, ...(lane ? [swatch(lane), ` ${nameOf(lane)}`] : [type.replace("pod.", "").replace(".", " ")]));
    const rest = text.replace(this.box.dataset.pod, "").trim();
    return el("tr", { "data-at": t }, this.time(t), what, el("td", { class: "msg" }, ...this.told({ pod: this.by.find(({ pod }) => rest.includes(pod))?.pod, text: rest }, t)));
  }

  moveRow(move) {
    const lane = move.to === "popped" ? "active" : move.to;
    const what = el("td", { class: "nowrap" }, swatch(lane), ` ${move.from ? `${nameOf(move.from)} → ` : ""}${nameOf(move.to)}`);
    const why = el("td", { class: "msg" }, ...(move.event ? [el("span", { class: "chip", text: move.event })] : []));
    const { cause } = move;
    if (cause) why.append(" ", ...this.told(cause, move.t));
    return el("tr", { "data-at": move.t }, this.time(move.t), what, why);
  }

  // What the server says of a cause, with the pod in it as a link.
  told({ pod, text }, t) {
    if (!pod || pod === this.box.dataset.pod || !text.includes(pod)) return [text];
    const at = text.indexOf(pod);
    const link = el("a", { class: "mono tiny", href: `${podAddress(this.box.dataset.pods, pod)}?t=${Number(t.toFixed(3))}`, text: pod });
    return [text.slice(0, at), link, text.slice(at + pod.length)];
  }

  critical() {
    const path = this.path.filter(({ from_t, to_t }) => to_t > from_t);
    const total = path.reduce((sum, part) => sum + part.to_t - part.from_t, 0);
    const rows = path.map((part) => {
      const lane = part.where === "popped" ? "active" : part.where;
      return el("tr", {}, el("td", { class: "nowrap" }, swatch(lane), ` ${nameOf(part.where)}`), el("td", { class: "num", text: span(part.to_t - part.from_t) }), el("td", { class: "num", text: `${clock(part.from_t)} – ${clock(part.to_t)}` }), el("td", { class: "msg", text: part.waiting_for || "" }));
    });
    this.box.querySelector("[data-path]").replaceChildren(...(rows.length ? rows : [el("tr", {}, el("td", { colspan: 4, class: "muted", text: "It never waited." }))]));
    this.box.querySelector("[data-summary]").textContent = this.summary(path, total);
  }

  summary(path, total) {
    const placed = this.happened.some(({ type }) => type === "pod.bound");
    if (!this.attempts.length && !this.moves.length) return "It was never in the queue.";
    const tries = this.attempts.length === 1 ? "one attempt" : `${this.attempts.length} attempts`;
    if (!path.length) return placed ? `Placed without waiting, in ${tries}.` : `It did not wait; ${tries}.`;
    const sums = new Map();
    for (const part of path) sums.set(part.where, (sums.get(part.where) ?? 0) + part.to_t - part.from_t);
    const parts = [...sums].sort((a, b) => b[1] - a[1]).map(([where, seconds]) => `${span(seconds)} ${nameOf(where)}`);
    const longest = path.reduce((a, b) => (b.to_t - b.from_t > a.to_t - a.from_t ? b : a));
    const why = longest.waiting_for ? ` The longest wait, ${span(longest.to_t - longest.from_t)}: ${longest.waiting_for}.` : "";
    return `${placed ? "Waited" : "Has waited"} ${span(total)} over ${tries}: ${parts.join(", ")}.${why}`;
  }

  // The moment in the address: a line in the picture, its rows in the table.
  mark() {
    let first = null;
    for (const row of this.box.querySelectorAll("[data-at]")) {
      const at = this.t !== null && Math.abs(Number(row.dataset.at) - this.t) < 0.0006;
      row.classList.toggle("at", at);
      if (at) first ??= row;
    }
    const lanes = this.box.querySelector("[data-lanes]");
    const t = this.t ?? this.begin;
    lanes.href = `${lanes.dataset.lanes}?t=${Number(t.toFixed(3))}#lanes`;
    if (first) { const box = first.closest(".scroll"); box.scrollTop = first.offsetTop - 60; }
  }

  listen() {
    this.box.addEventListener("click", (event) => {
      const link = event.target.closest("[data-t]");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.t = Number(link.dataset.t);
      remember(this.t);
      this.draw();
      this.mark();
    });
  }
}

const nameIn = (key) => key.slice(key.indexOf("/") + 1);
const attemptAddress = ({ number: which, t }) => `?attempt=${which}&t=${Number(t.toFixed(3))}`;
const said = ({ result, node }) => `${(RESULT[result]?.[1] ?? result).replace(/^\S+ /, "")}${node ? ` on ${node}` : ""}`;
const because = ({ t, event, cause }) => `${clock(t)} ${event}${cause?.text ? `: ${cause.text}` : cause?.pod ? `: ${cause.pod}` : ""}`;

async function load(box) {
  const wait = box.querySelector(".wait");
  try {
    const response = await fetch(box.dataset.src, { headers: { Accept: "application/json" } });
    const history = await response.json();
    if (!response.ok) throw new Error(history.error || "The history of this pod could not be read.");
    box.querySelector(".way-body").hidden = false;
    const way = new Way(box, history);
    way.show();
    way.listen();
    wait.remove();
  } catch (error) {
    wait.textContent = error.message;
  }
}

function start() {
  const box = document.getElementById("way");
  if (box && !box.dataset.begun) { box.dataset.begun = "yes"; load(box); }
}

document.addEventListener("podrefreshed", start);
start();
