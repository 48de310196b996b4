// A run over virtual time: slider, event track and queue rows on one axis, one cursor, and a player that moves it.

import { el } from "../dom.js";
import { counted, number } from "../format.js";
import { Source } from "./api.js";
import { grown, isWhole, momentAt, placeOf, showing, whole, zoomed } from "./axis.js";
import { advanced, clock, SPEEDS, span, speedFor } from "./clock.js";
import { EventList } from "./event_list.js";
import { TrackRows } from "./event_track_rows.js";
import { LaneRows } from "./queue_rows.js";
import { remember, remembered } from "./url_time.js";

const calm = matchMedia("(prefers-reduced-motion: reduce)");
const FRAME = 33; // milliseconds
const CALM_FRAME = 700;
const SETTLED = 160; // delay in milliseconds before the event list and the URL are updated
const ZOOM = 4;

class Player {
  constructor(box) {
    this.box = box;
    this.slider = box.querySelector("input[type=range]");
    this.speed = box.querySelector("select");
    this.playButton = box.querySelector('[data-do="play"]');
    this.line = box.querySelector(".now-line");
    this.source = new Source(box.dataset.src);
    this.axis = null;
    this.t = remembered();
    this.following = this.t === null; // an active run is followed until the user moves the cursor
    this.playing = false;
    this.steps = Promise.resolve();
    this.stop = null; // the next breakpoint: {t, names}
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
    const at = this.following || this.t === null ? this.axis.until : this.t;
    await this.source.stretch(Math.min(at, this.axis.until));
    this.box.querySelector(".wait")?.remove();
    this.box.querySelector(".lanes-body").hidden = false;
    this.draw(seen);
    this.go(at, { keep: false });
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
    const x = this.left + placeOf(this.axis, this.t) * this.width;
    this.line.style.transform = `translateX(${x}px)`;
  }

  // Changes the visible range. The charts follow when their data has arrived.
  async look(axis) {
    if (axis.from === this.axis.from && axis.to === this.axis.to) return;
    this.axis = axis;
    const seen = await this.source.overview(isWhole(axis) ? null : axis);
    if (axis === this.axis) this.draw(seen);
  }

  // Moves the cursor for the user. An active run is no longer followed, unless the cursor is at its end.
  move(t) {
    this.play(false);
    this.following = this.box.dataset.live && t >= this.axis.until;
    this.go(t);
  }

  // The map shows another timepoint.
  seek(t) {
    this.play(false);
    this.following = false;
    if (!this.axis) this.t = t;
    else if (Math.abs(t - this.t) > 1e-6) this.go(t, { keep: false });
  }

  go(t, { keep = true } = {}) {
    this.t = Math.min(this.axis.until, Math.max(0, t));
    this.look(showing(this.axis, this.t)).catch(() => {});
    this.slider.value = this.t;
    this.cursor();
    this.show();
    if (keep) document.dispatchEvent(new CustomEvent("moment", { detail: { t: this.t } })); // the map follows
    clearTimeout(this.settled);
    if (this.playing) return;
    this.settled = setTimeout(() => {
      if (keep) remember(this.t);
      this.events.show(this.t).catch((error) => this.fail(error));
    }, SETTLED);
  }

  show() {
    this.box.querySelector("[data-clock]").textContent = clock(this.t);
    this.track.tell(this.t);
    const stretch = this.source.have(this.t);
    this.box.classList.toggle("reading", !stretch);
    if (!stretch) {
      this.reach(this.t);
      return;
    }
    const state = stretch.at(this.t);
    // During playback, moved pods stay highlighted for half a second of real time.
    const recent = stretch.recent(this.t, this.playing ? Number(this.speed.value) * 0.5 : 0);
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
    this.play(false);
    this.box.querySelector("[data-events-title]").textContent = error.message;
  }

  play(on = !this.playing) {
    if (on === this.playing || !this.axis) return;
    this.playing = on;
    this.playButton.setAttribute("aria-pressed", String(on));
    this.playButton.querySelector("[data-icon]").textContent = on ? "❚❚" : "▶";
    this.playButton.querySelector("[data-label]").textContent = on ? "Pause" : "Play";
    if (!on) {
      this.go(this.t);
      return;
    }
    this.following = false;
    if (this.t >= this.axis.until - 1e-9) this.go(0);
    this.stop = null;
    const stopAt = (stop) => {
      this.stop = stop;
    };
    this.box.querySelector("[data-stopped]").textContent = "";
    document.dispatchEvent(new CustomEvent("play", { detail: { stopAt } }));
    let before = performance.now();
    const frame = (now) => {
      if (!this.playing) return;
      const passed = now - before;
      if (!this.source.have(this.t))
        before = now; // wait until the data is loaded
      else if (passed >= (calm.matches ? CALM_FRAME : FRAME)) {
        before = now;
        const speed = Number(this.speed.value);
        const t = calm.matches ? this.source.have(this.t).after(this.t) : advanced(this.t, passed, speed);
        const stops = this.stop && t >= this.stop.t;
        this.go(stops ? this.stop.t : t);
        if (stops) {
          this.box.querySelector("[data-stopped]").textContent = `Stopped: ${this.stop.names.join(", ")}`;
          this.play(false);
          return;
        }
      }
      if (this.t >= this.axis.until - 1e-9) this.play(false);
      else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
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
      play: () => this.play(),
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
    document.addEventListener("seek", ({ detail: { t } }) => this.seek(t));
    document.addEventListener("swapped", () => {
      if (!this.following) remember(this.t);
    });
    addEventListener("popstate", () => {
      const t = remembered();
      if (t !== null) this.go(t, { keep: false });
    });
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
      this.play();
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
  const player = new Player(box);
  const load = () =>
    player.load().catch((error) => {
      const wait = box.querySelector(".wait");
      if (wait) wait.textContent = error.message;
    });
  load();
  let due = 0;
  document.addEventListener("refreshed", (event) => {
    if (!event.detail.over && (performance.now() < due || player.playing)) return;
    due = performance.now() + 3000;
    if (event.detail.over) delete box.dataset.live;
    load();
  });
}
