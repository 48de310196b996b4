// The queue over virtual time: a row a lane with its size at every moment, the pods in it at the chosen one, playback.
import { LANES, clock, el, patterns, podAddress, remember, remembered, shortened, span, svg, swatch, ticks } from "./virtual.js";

const CHIPS = 24;
const TOLD = 30; // moves of a moment that are told
const CAUSES = 8; // causes before the moment that are asked for
const HEIGHT = 44;
const KEPT_EVERY = 4096; // moves between two kept states: going to any moment replays at most so many
const SHOWN = ["active", "backoff", "unschedulable", "gated", "waiting", "bound"];
const SPEEDS = [1, 5, 20, 60, 300, 1200, 3600, 14400];
const number = new Intl.NumberFormat("en");
const calm = matchMedia("(prefers-reduced-motion: reduce)");

// The recording: which pod is in which lane, at any moment.
class Recording {
  constructor({ until, clock: reached, pods, moves, lanes, note }) {
    this.pods = pods;
    this.lanes = lanes;
    this.note = note ?? "";
    this.moves = moves.map((move, index) => [...move, index]).sort((a, b) => a[0] - b[0] || a[4] - b[4]);
    this.until = Math.max(reached || until || 0, this.moves.at(-1)?.[0] ?? 0) || 1;
    this.moments = [...new Set([0, ...this.moves.map((move) => move[0])])];
    this.alone = new Set(pods.map((pod) => pod.split("/")[0])).size <= 1;
    this.states = [];
    const state = this.empty();
    this.moves.forEach((move, index) => {
      if (index % KEPT_EVERY === 0) this.states.push({ lane: state.lane.slice(), last: state.last.slice(), counts: state.counts.slice() });
      this.apply(state, index);
    });
  }

  empty() {
    return { lane: new Int8Array(this.pods.length).fill(-1), last: new Int32Array(this.pods.length).fill(-1), counts: new Int32Array(this.lanes.length) };
  }

  apply(state, index) {
    const [, pod, lane] = this.moves[index];
    if (state.lane[pod] >= 0) state.counts[state.lane[pod]] -= 1;
    state.counts[lane] += 1;
    state.lane[pod] = lane;
    state.last[pod] = index;
  }

  // How many moves have happened by t.
  done(t) {
    let low = 0;
    let high = this.moves.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.moves[middle][0] <= t + 1e-9) low = middle + 1; else high = middle;
    }
    return low;
  }

  at(t) {
    const done = this.done(t);
    const kept = this.states[Math.min(this.states.length - 1, Math.floor(done / KEPT_EVERY))];
    const state = kept ? { lane: kept.lane.slice(), last: kept.last.slice(), counts: kept.counts.slice() } : this.empty();
    for (let index = this.states.indexOf(kept) * KEPT_EVERY; kept && index < done; index += 1) this.apply(state, index);
    return { ...state, done };
  }

  // The newest pods of each lane, at most `most` a lane.
  newest({ lane, last, counts, done }, most) {
    const found = this.lanes.map(() => []);
    let missing = counts.reduce((sum, count) => sum + Math.min(count, most), 0);
    for (let index = done - 1; index >= 0 && missing > 0; index -= 1) {
      const pod = this.moves[index][1];
      if (last[pod] !== index || found[lane[pod]].length >= most) continue;
      found[lane[pod]].push(pod);
      missing -= 1;
    }
    return found;
  }

  // Size of every lane: the largest within each of `bins` stretches of the run.
  sizes(bins) {
    const all = this.lanes.map(() => new Float64Array(bins));
    const state = this.empty();
    let index = 0;
    for (let bin = 0; bin < bins; bin += 1) {
      const end = (this.until * (bin + 1)) / bins;
      all.forEach((sizes, lane) => { sizes[bin] = state.counts[lane]; });
      for (; index < this.moves.length && (this.moves[index][0] < end || bin === bins - 1); index += 1) {
        const lane = this.moves[index][2];
        this.apply(state, index);
        all[lane][bin] = Math.max(all[lane][bin], state.counts[lane]);
      }
    }
    return all;
  }

  momentBefore(t) { return this.moments.findLast((moment) => moment < t - 1e-9) ?? 0; }

  momentAfter(t) { return this.moments.find((moment) => moment > t + 1e-9) ?? this.until; }
}

class Player {
  constructor(box) {
    this.box = box;
    this.slider = box.querySelector("input[type=range]");
    this.speed = box.querySelector("select");
    this.playButton = box.querySelector('[data-do="play"]');
    this.t = null;
    this.playing = false;
    this.listen();
  }

  async load() {
    const response = await fetch(this.box.dataset.src, { headers: { Accept: "application/json" } });
    const data = await response.json();
    if (!response.ok) throw new Error(data.error || "The lanes of this run could not be read.");
    const first = !this.recording;
    const atEnd = this.recording && this.t >= this.recording.until - 1e-9;
    this.recording = new Recording(data);
    this.slider.max = this.recording.until;
    if (first) this.build();
    this.overview();
    const wish = first ? remembered() : this.t;
    this.go(wish === null ? (first ? this.interesting() : 0) : atEnd && this.box.dataset.live ? this.recording.until : wish, { keep: false });
    this.box.querySelector(".wait")?.remove();
    this.box.querySelector(".lanes-body").hidden = false;
    const { pods, moves, note } = this.recording;
    this.box.querySelector("[data-note]").textContent = `${number.format(pods.length)} pods, ${number.format(moves.length)} moves, ${span(this.recording.until)}${note ? `. ${note}` : ""}`;
  }

  // Without a moment in the address: the first at which most pods wait.
  interesting() {
    const { lanes } = this.recording;
    const queued = ["backoff", "unschedulable", "waiting"].map((lane) => lanes.indexOf(lane)).filter((lane) => lane >= 0);
    const state = this.recording.empty();
    let best = 0;
    let at = 0;
    this.recording.moves.forEach((move, index) => {
      this.recording.apply(state, index);
      if (this.recording.moves[index + 1]?.[0] === move[0]) return;
      const waiting = queued.reduce((sum, lane) => sum + state.counts[lane], 0);
      if (waiting > best) { best = waiting; at = move[0]; }
    });
    return at;
  }

  build() {
    const holder = svg("svg", { width: 0, height: 0, "aria-hidden": "true", class: "patterns" });
    holder.append(patterns());
    this.box.append(holder);
    const rows = this.box.querySelector(".lane-rows");
    this.rows = SHOWN.filter((lane) => this.recording.lanes.includes(lane)).map((lane) => {
      const count = el("strong", { class: "num", "data-count": lane, text: "0" });
      const most = el("span", { class: "tiny faint num" });
      const label = el("div", { class: "lane-name", title: LANES[lane] }, el("span", { class: "row" }, swatch(lane), el("span", { text: lane })), count, most);
      const picture = svg("svg", { class: "lane-size", height: HEIGHT, "aria-hidden": "true", "data-scrub": "" });
      const chips = el("div", { class: "chips lane-pods", role: "list", "aria-label": `Pods in ${lane}` });
      rows.append(el("div", { class: `lane lane-${lane}`, "data-lane": lane }, label, picture, chips));
      return { lane, index: this.recording.lanes.indexOf(lane), count, most, picture, chips, shown: "" };
    });
    this.axis = svg("svg", { class: "lane-axis", height: 20, "aria-hidden": "true", "data-scrub": "" });
    rows.append(el("div", { class: "lane axis" }, el("span"), this.axis, el("span")));
    const fit = SPEEDS.find((speed) => speed >= this.recording.until / 60) ?? SPEEDS.at(-1);
    for (const speed of SPEEDS) this.speed.append(el("option", { value: speed, text: `${number.format(speed)}×`, selected: speed === fit ? "" : undefined }));
    new ResizeObserver(() => { this.overview(); this.cursor(); }).observe(this.axis);
  }

  overview() {
    const width = Math.round(this.axis.getBoundingClientRect().width) || 600;
    const bins = Math.max(60, Math.min(900, Math.floor(width / 2)));
    const sizes = this.recording.sizes(bins);
    for (const row of this.rows) {
      const most = Math.max(...sizes[row.index]);
      row.most.textContent = `most ${number.format(most)}`;
      const y = (size) => (HEIGHT - 3 - ((HEIGHT - 6) * size) / (most || 1)).toFixed(1);
      let line = `M0 ${HEIGHT - 3}`;
      sizes[row.index].forEach((size, bin) => {
        if (bin === 0 || size !== sizes[row.index][bin - 1]) line += `V${y(size)}`;
        line += `H${(((bin + 1) * width) / bins).toFixed(1)}`;
      });
      const area = svg("path", { d: `${line}V${HEIGHT - 3}Z`, fill: `url(#lane-${row.lane})` });
      row.cursor = svg("line", { y1: 0, y2: HEIGHT, class: "now" });
      row.picture.replaceChildren(svg("line", { x1: 0, x2: width, y1: HEIGHT - 2.5, y2: HEIGHT - 2.5, class: "base" }), ...(most ? [area] : []), row.cursor);
    }
    const marks = ticks(0, this.recording.until, Math.max(2, width / 90)).map((t) => {
      const x = (t / this.recording.until) * width;
      return svg("text", { x, y: 14, "text-anchor": x < 20 ? "start" : x > width - 20 ? "end" : "middle" }, clock(t));
    });
    this.axis.replaceChildren(...marks);
    this.width = width;
  }

  cursor() {
    const x = (this.t / this.recording.until) * this.width;
    for (const row of this.rows) { row.cursor.setAttribute("x1", x); row.cursor.setAttribute("x2", x); }
  }

  go(t, { keep = true } = {}) {
    if (!this.recording) return;
    this.t = Math.min(this.recording.until, Math.max(0, t));
    this.slider.value = this.t;
    this.cursor();
    this.show();
    clearTimeout(this.settled);
    if (!this.playing) this.settled = setTimeout(() => { if (keep) remember(this.t); this.tell(); }, 160);
  }

  // lane -> pods that came into it at the moment that is shown; while it plays, within the last half second on the wall.
  recent(done) {
    const { moves } = this.recording;
    if (!done) return new Map();
    const since = moves[done - 1][0] - (this.playing ? Number(this.speed.value) * 0.5 : 0);
    const found = new Map();
    for (let index = done - 1; index >= 0 && moves[index][0] >= since - 1e-9; index -= 1) {
      const [, pod, lane] = moves[index];
      if (!found.has(lane)) found.set(lane, new Set());
      found.get(lane).add(pod);
    }
    return found;
  }

  show() {
    const { recording } = this;
    const state = recording.at(this.t);
    const recent = this.recent(state.done);
    const moved = new Set([...recent.values()].flatMap((pods) => [...pods]));
    const newest = recording.newest(state, CHIPS);
    this.box.querySelector("[data-clock]").textContent = clock(this.t);
    const parts = [];
    for (const row of this.rows) {
      const count = state.counts[row.index];
      row.count.textContent = number.format(count);
      if (count) parts.push(`${count} ${row.lane}`);
      const passed = [...(recent.get(row.index) ?? [])].filter((pod) => state.lane[pod] !== row.index).slice(0, CHIPS);
      const key = `${newest[row.index].map((pod) => `${pod}${moved.has(pod) ? "!" : ""}`).join(" ")} ${count} ${passed.join(" ")}`;
      if (key === row.shown) continue;
      row.shown = key;
      row.chips.replaceChildren(...newest[row.index].map((pod) => this.chip(pod, moved.has(pod) ? "moved" : "")), ...passed.map((pod) => this.chip(pod, "passed")));
      if (count > CHIPS) row.chips.append(el("span", { class: "tiny muted", role: "listitem", text: `and ${number.format(count - CHIPS)} more` }));
      if (!count && !passed.length) row.chips.append(el("span", { class: "tiny faint", role: "listitem", text: "nobody" }));
    }
    this.slider.setAttribute("aria-valuetext", `${clock(this.t)}: ${parts.join(", ") || "no pods yet"}`);
    this.done = state.done;
  }

  chip(pod, state) {
    const key = this.recording.pods[pod];
    const text = shortened(this.recording.alone ? key.slice(key.indexOf("/") + 1) : key);
    const title = state === "passed" ? `${key} came and went at this moment` : key;
    const link = el("a", { class: `chip ${state}`.trim(), text, title, href: `${podAddress(this.box.dataset.pods, key)}?t=${Number(this.t.toFixed(3))}` });
    return el("span", { role: "listitem" }, link);
  }

  // What moved at this moment and why: from the run's events.
  async tell() {
    const list = this.box.querySelector("[data-told]");
    const heading = this.box.querySelector("[data-told-title]");
    const { done } = this;
    const moment = done ? this.recording.moves[done - 1][0] : 0;
    const mine = (this.telling = {});
    const moves = [];
    for (let index = done - 1; index >= 0 && this.recording.moves[index][0] === moment; index -= 1) moves.unshift(this.recording.moves[index]);
    heading.textContent = moves.length ? `What moved at ${clock(moment)}` : "Nothing has moved yet";
    if (!moves.length) { list.replaceChildren(); return; }
    const told = moves.slice(0, TOLD);
    const seqs = told.map((move) => move[3]);
    const events = await this.events(Math.min(...seqs), Math.max(...seqs));
    const causes = new Set(seqs.map((seq) => events.get(seq)?.data.cause).filter((seq) => seq && !events.has(seq)));
    for (const found of await Promise.all([...causes].slice(0, CAUSES).map((seq) => this.events(seq, seq)))) for (const [seq, event] of found) events.set(seq, event);
    if (mine !== this.telling) return;
    const lines = told.map((move) => this.line(move, events));
    if (moves.length > TOLD) lines.push(el("li", { class: "tiny muted", text: `and ${number.format(moves.length - TOLD)} more moves` }));
    list.replaceChildren(...lines);
  }

  async events(first, last) {
    const limit = Math.min(1000, last - first + 1);
    try {
      const response = await fetch(`${this.box.dataset.events}?since=${first - 1}&limit=${limit}`, { headers: { Accept: "application/json" } });
      const { events = [] } = await response.json();
      return new Map(events.map((event) => [event.seq, event]));
    } catch {
      return new Map(); // the moves are told without their causes
    }
  }

  line([, pod, lane, seq], events) {
    const key = this.recording.pods[pod];
    const event = events.get(seq);
    const to = this.recording.lanes[lane];
    const line = el("li", {}, el("a", { class: "mono tiny wrap", text: key, href: `${podAddress(this.box.dataset.pods, key)}?t=${Number(this.t.toFixed(3))}` }));
    line.append(` ${event?.data.from && event.data.from !== "popped" ? `${event.data.from} → ` : "→ "}${to}`);
    if (event?.data.event) line.append(" ", el("span", { class: "chip", text: event.data.event }));
    const because = causeText(events.get(event?.data.cause));
    if (because) line.append(el("span", { class: "muted", text: ` because ${because}` }));
    return line;
  }

  play(on = !this.playing) {
    if (on === this.playing || !this.recording) return;
    this.playing = on;
    this.playButton.setAttribute("aria-pressed", String(on));
    this.playButton.querySelector("[data-icon]").textContent = on ? "❚❚" : "▶";
    this.playButton.querySelector("[data-label]").textContent = on ? "Pause" : "Play";
    if (!on) { this.go(this.t); return; }
    if (this.t >= this.recording.until - 1e-9) this.go(0);
    let before = performance.now();
    const frame = (now) => {
      if (!this.playing) return;
      const passed = now - before;
      if (passed >= (calm.matches ? 700 : 33)) {
        before = now;
        this.go(calm.matches ? this.recording.momentAfter(this.t) : this.t + (Math.min(passed, 250) / 1000) * Number(this.speed.value));
      }
      if (this.t >= this.recording.until - 1e-9) this.play(false); else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  step(by) {
    this.play(false);
    let { t } = this;
    for (let left = Math.abs(by); left > 0; left -= 1) t = by < 0 ? this.recording.momentBefore(t) : this.recording.momentAfter(t);
    this.go(t);
  }

  listen() {
    const actions = { start: () => { this.play(false); this.go(0); }, back: () => this.step(-1), play: () => this.play(), next: () => this.step(1) };
    this.box.addEventListener("click", (event) => {
      const button = event.target.closest("button[data-do]");
      if (button && this.recording) actions[button.dataset.do]();
    });
    this.slider.addEventListener("input", () => { this.play(false); this.go(Number(this.slider.value)); });
    const keys = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };
    this.slider.addEventListener("keydown", (event) => {
      if (!(event.key in keys) || !this.recording || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      this.step(keys[event.key]);
    });
    this.box.addEventListener("keydown", (event) => {
      if (event.key !== " " || event.target.closest("button, select, a")) return;
      event.preventDefault();
      this.play();
    });
    // Chips hold still for whoever reaches for one.
    const rows = this.box.querySelector(".lane-rows");
    rows.addEventListener("focusin", () => this.play(false));
    const scrub = (event) => {
      const picture = event.target.closest("[data-scrub]");
      if (!picture || !this.recording) return;
      const place = picture.getBoundingClientRect();
      this.go(((event.clientX - place.left) / place.width) * this.recording.until);
    };
    rows.addEventListener("pointerdown", (event) => {
      this.play(false);
      const picture = event.target.closest("[data-scrub]");
      if (!picture) return;
      event.preventDefault();
      picture.setPointerCapture(event.pointerId);
      scrub(event);
    });
    rows.addEventListener("pointermove", (event) => { if (event.buttons & 1) scrub(event); });
    document.addEventListener("swapped", () => { if (this.recording) remember(this.t); });
    addEventListener("popstate", () => { const t = remembered(); if (t !== null && this.recording) this.go(t, { keep: false }); });
  }
}

// An event of the run as the reason of a move.
function causeText(event) {
  if (!event) return "";
  const { data, pod } = event;
  const texts = {
    "pod.created": () => `${pod} was created`,
    "pod.deleted": () => `${pod} is gone${data.node ? ` from ${data.node}` : ""}${data.reason ? ` (${data.reason})` : ""}`,
    "pod.evicted": () => `${pod} is evicted${data.node ? ` from ${data.node}` : ""}${data.by ? ` for ${data.by}` : ""}`,
    "pod.updated": () => `${pod} was updated`,
    "pod.nominated": () => `${pod} ${data.node ? `is nominated to ${data.node}` : "is no longer nominated"}`,
    "pod.bound": () => `${pod} was bound to ${data.node}`,
    "permit.rejected": () => `Permit rejected ${pod}`,
    "bind.failed": () => `binding ${pod} failed`,
    "node.changed": () => `node ${data.name ?? data.node} was ${data.change}`,
    "object.changed": () => `${data.object} was ${data.change}`,
    "cycle.finished": () => `attempt ${event.attempt} of ${pod} ended: ${data.result}`,
  };
  return texts[event.type]?.() ?? event.type;
}

const box = document.getElementById("lanes");
if (box) {
  const player = new Player(box);
  const fail = (error) => { const wait = box.querySelector(".wait"); if (wait) wait.textContent = error.message; };
  player.load().catch(fail);
  let due = 0;
  document.addEventListener("refreshed", (event) => {
    if (!event.detail.over && (performance.now() < due || player.playing)) return;
    due = performance.now() + 5000;
    player.load().catch(fail);
  });
}
