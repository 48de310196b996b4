// A run over virtual time: slider, event track and queue rows on one axis, and one cursor. The player of the map moves
// it; without a map, only the user does.

import { el } from "../dom.js";
import { counted, number } from "../format.js";
import { Source } from "./api.js";
import { grown, isWhole, momentAt, placeOf, showing, whole, zoomed } from "./axis.js";
import { clock, SPEEDS, span, speedFor } from "./clock.js";
import { EventList } from "./event_list.js";
import { TrackRows } from "./event_track_rows.js";
import { LaneRows } from "./queue_rows.js";
import { remember, remembered } from "./url_time.js";

const SETTLED = 160; // delay in milliseconds before the event list is updated
const ZOOM = 4;

class Timeline {
  constructor(box) {
    this.box = box;
    this.slider = box.querySelector("input[type=range]");
    this.speed = box.querySelector("select");
    this.playButton = box.querySelector('[data-do="play"]');
    this.line = box.querySelector(".now-line");
    this.source = new Source(box.dataset.src);
    this.axis = null;
    this.t = remembered();
    this.seq = Infinity; // the last event that is shown; Infinity: all until `t`
    this.playing = false; // whether the shown timepoint moves by itself
    this.steps = Promise.resolve();
    const map = document.getElementById("map") !== null;
    for (const one of [this.playButton, this.speed.parentElement]) one.hidden = !map;
    this.playButton.disabled = true; // until the map shows a timepoint
    if (map && box.dataset.live) this.t ??= 0;
  }

  // Loads the run, or what it has recorded since; one request at a time, because the first one builds the rows.
  load() {
    this.loading ??= this.fetch().finally(() => {
      this.loading = null;
    });
    return this.loading;
  }

  async fetch() {
    const first = !this.axis;
    const seen = await this.source.overview(first || isWhole(this.axis) ? null : this.axis);
    this.source.forgetEnd();
    this.axis = first ? whole(seen.clock) : grown(this.axis, seen.clock);
    if (first) this.build(seen);
    const { pods, moves } = seen;
    const parts = [counted(pods, "pod"), counted(moves, "move"), span(this.axis.until)];
    this.box.querySelector("[data-note]").textContent = parts.join(", ");
    await this.source.stretch(Math.min(this.t ?? Infinity, this.axis.until));
    this.box.querySelector(".wait")?.remove();
    this.box.querySelector(".lanes-body").hidden = false;
    this.draw(seen);
    this.go(this.t ?? this.axis.until, this.seq);
  }

  build({ lanes }) {
    this.rows = new LaneRows(this.box, lanes);
    this.track = new TrackRows(this.box, (t) => this.move(t));
    this.events = new EventList(this.box, this.source);
    const fit = speedFor(this.axis.until);
    for (const speed of SPEEDS) {
      const selected = speed === fit ? "" : undefined;
      this.speed.append(el("option", { value: speed, text: `${number.format(speed)}×`, selected }));
    }
    this.listen();
    new ResizeObserver(() => this.seen && this.draw(this.seen)).observe(this.rows.axis);
  }

  // Draws queue rows and event track at the available width.
  draw(seen) {
    this.seen = seen;
    const place = this.rows.axis.getBoundingClientRect();
    this.width = place.width || 600;
    this.left = place.left - this.line.parentElement.getBoundingClientRect().left;
    this.rows.draw(seen.sizes, this.axis, this.width);
    this.track.draw(seen.track, (t) => placeOf(this.axis, t) * this.width, this.width);
    this.slider.min = this.axis.from;
    this.slider.max = this.axis.to;
    const all = isWhole(this.axis);
    this.box.querySelector("[data-range]").textContent = all
      ? `of ${clock(this.axis.until)}`
      : `${clock(this.axis.from)} to ${clock(this.axis.to)}`;
    this.box.querySelector('[data-do="whole"]').disabled = all;
    this.cursor();
  }

  cursor() {
    if (this.t === null) return;
    const x = this.left + Math.min(1, placeOf(this.axis, this.t)) * this.width; // an active run may be ahead
    this.line.style.transform = `translateX(${x}px)`;
  }

  // Changes the visible range. The charts follow when their data has arrived.
  async look(axis) {
    if (axis.from === this.axis.from && axis.to === this.axis.to) return;
    this.axis = axis;
    const seen = await this.source.overview(isWhole(axis) ? null : axis);
    if (axis === this.axis) this.draw(seen);
  }

  // Moves the cursor for the user. The map follows.
  move(t) {
    const { until } = this.axis;
    this.playing = false;
    this.go(Math.min(until, Math.max(0, t)));
    if (this.playButton.disabled) remember(this.t); // the map opens there
    document.dispatchEvent(new CustomEvent("moment", { detail: { t: this.t, end: t >= until } }));
  }

  // The map shows another timepoint.
  seek({ t, seq, playing, clock: plays, stopped }) {
    const same = t === this.t && seq === this.seq && this.playing === (playing !== 0);
    this.playing = playing !== 0;
    this.showPlaying(plays, stopped);
    if (!this.axis) Object.assign(this, { t, seq });
    else if (!same) this.go(t, seq);
  }

  go(t, seq = Infinity) {
    Object.assign(this, { t, seq });
    this.look(showing(this.axis, t)).catch(() => {});
    this.slider.value = t;
    this.cursor();
    this.show();
    clearTimeout(this.settled);
    if (this.playing) return;
    this.settled = setTimeout(() => this.events.show(this.t).catch((error) => this.fail(error)), SETTLED);
  }

  show() {
    this.box.querySelector("[data-clock]").textContent = clock(this.t);
    this.track.tell(this.t);
    const stretch = this.source.have(this.t);
    // The end of an active run is fetched at intervals, since the server reads all its moves for it.
    const later = this.box.dataset.live && this.t >= this.axis.until;
    const known = stretch && (this.seq === Infinity || this.seq <= stretch.lastSeq);
    this.box.classList.toggle("reading", !known);
    if (!known) {
      this.rows.showUnknown();
      if (!stretch && !later) this.reach(this.t);
      return;
    }
    const state = stretch.at(this.t, this.seq);
    // During playback, moved pods stay highlighted for half a second of real time.
    const recent = stretch.recent(this.t, this.playing ? Number(this.speed.value) * 0.5 : 0, this.seq);
    const sizes = this.rows.show(stretch, state, recent, this.t);
    this.slider.setAttribute("aria-valuetext", `${clock(this.t)}: ${sizes.join(", ") || "no pods yet"}`);
    if (this.playing && placeOf(stretch, this.t) > 0.6) this.reach(stretch.to);
  }

  // Fetches the window around a second, one at a time, then shows the cursor's position.
  reach(t) {
    if (this.reaching || this.source.have(t)) return;
    this.reaching = true;
    this.source
      .stretch(t)
      .catch((error) => this.fail(error))
      .finally(() => {
        this.reaching = false;
        if (this.box.classList.contains("reading")) this.show();
      });
  }

  fail(error) {
    this.box.querySelector("[data-events-title]").textContent = error.message;
  }

  // Plays the clock, or pauses.
  play(on) {
    const pace = on ? () => Number(this.speed.value) : null;
    document.dispatchEvent(new CustomEvent("play", { detail: { pace } }));
  }

  toggle() {
    if (this.playButton.disabled) return;
    this.play(this.playButton.getAttribute("aria-pressed") !== "true");
  }

  showPlaying(on, stopped) {
    this.playButton.disabled = false;
    this.playButton.setAttribute("aria-pressed", String(on));
    this.playButton.querySelector("[data-icon]").textContent = on ? "❚❚" : "▶";
    this.playButton.querySelector("[data-label]").textContent = on ? "Pause" : "Play";
    this.box.querySelector("[data-stopped]").textContent = stopped ? `Stopped: ${stopped}` : "";
  }

  // Steps from event to event. Each step waits for the previous one.
  step(by) {
    this.play(false);
    this.steps = this.steps.then(async () => {
      let { t } = this;
      for (let left = Math.abs(by); left > 0; left -= 1) {
        const stretch = await this.source.stretch(t);
        const before = () => stretch.before(t) ?? (stretch.from > 0 ? this.last(stretch.from) : 0);
        t = by > 0 ? stretch.after(t) : await before();
      }
      this.move(t);
    });
    this.steps = this.steps.catch((error) => this.fail(error));
  }

  // Returns the last event time before a window.
  async last(begin) {
    const stretch = await this.source.stretch(Math.max(0, begin - 1e-6));
    return stretch.before(begin) ?? stretch.from;
  }

  listen() {
    const actions = {
      start: () => this.move(0),
      back: () => this.step(-1),
      play: () => this.toggle(),
      next: () => this.step(1),
      end: () => this.move(this.axis.until),
      closer: () => this.look(zoomed(this.axis, this.t, 1 / ZOOM)),
      farther: () => this.look(zoomed(this.axis, this.t, ZOOM)),
      whole: () => this.look(whole(this.axis.until)),
    };
    this.box.addEventListener("click", (event) => {
      const button = event.target.closest("button[data-do]");
      const link = event.target.closest("a[data-go]");
      if (button) actions[button.dataset.do]();
      else if (link && !(event.ctrlKey || event.metaKey || event.shiftKey)) {
        event.preventDefault();
        this.move(Number(link.dataset.go));
      }
    });
    this.slider.addEventListener("input", () => this.move(rounded(Number(this.slider.value))));
    this.listenToKeys();
    this.listenToPointer();
  }

  listenToKeys() {
    const keys = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };
    const ends = { Home: () => 0, End: () => this.axis.until };
    this.slider.addEventListener("keydown", (event) => {
      if (!(event.key in keys || event.key in ends) || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      if (event.key in keys) this.step(keys[event.key]);
      else this.move(ends[event.key]());
    });
    this.box.addEventListener("keydown", (event) => {
      if (event.key !== " " || event.target.closest("button, select, a, [role=button], ol")) return;
      event.preventDefault();
      this.toggle();
    });
  }

  listenToPointer() {
    const rows = this.box.querySelector(".lane-rows");
    rows.addEventListener("focusin", (event) => {
      if (event.target !== this.slider) this.play(false); // stop playback, so that the focused chip does not move away
    });
    const scrub = ({ clientX }) => {
      const { left, width } = this.rows.axis.getBoundingClientRect();
      this.move(rounded(momentAt(this.axis, (clientX - left) / width)));
    };
    rows.addEventListener("pointerdown", (event) => {
      const picture = event.target.closest("[data-scrub]");
      if (!picture || event.button || event.target.closest(".mark")) return;
      event.preventDefault();
      picture.setPointerCapture(event.pointerId);
      scrub(event);
    });
    rows.addEventListener("pointermove", (event) => {
      if (event.buttons & 1 && event.target.closest("[data-scrub]")?.hasPointerCapture(event.pointerId)) scrub(event);
    });
  }
}

// Pointer positions are rounded to milliseconds.
const rounded = (t) => Math.round(t * 1000) / 1000;

const box = document.getElementById("lanes");
if (box) {
  const timeline = new Timeline(box);
  const load = () =>
    timeline.load().catch((error) => {
      const wait = box.querySelector(".wait");
      if (wait) wait.textContent = error.message;
    });
  load();
  document.addEventListener("timepoint", ({ detail }) => timeline.seek(detail));
  let due = 0;
  document.addEventListener("refreshed", (event) => {
    if (!event.detail.over && performance.now() < due) return;
    due = performance.now() + 3000;
    if (event.detail.over) delete box.dataset.live;
    load();
  });
}
