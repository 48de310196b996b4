// Player of a run: selects the shown timepoint by step, playback or choice, and stores it in the URL.

import { counted, number } from "../format.js";
import { clock } from "../timeline/clock.js";
import { MoveSteps } from "./moves.js";
import { CALM, due, FASTEST, isCandidate, next, played, stages } from "./stepper.js";
import { StreamLoader } from "./stream_loader.js";
import { focusIn, stepOf, withFocus } from "./url_state.js";
import { pictured } from "./verdicts.js";

const frame = () => new Promise((drawn) => requestAnimationFrame(drawn));
const MOST = 100; // cycles between two frames
const NEXT = 5; // cycles that playback prefetches
const SETTLED = 250; // delay in milliseconds before playback updates the URL
const TICKS = 30; // steps per second during playback of the clock
const CALM_TICKS = 1.5; // ... for users who prefer reduced motion
const calm = matchMedia("(prefers-reduced-motion: reduce)");

export class Player extends StreamLoader {
  // `shown`: called after another timepoint or step is shown. `failed`: called with an error. `also`: called first
  // with the options, so that another map can follow. `home`: focus if the URL names none. `quiet`: do not change the
  // URL. `decisions`: those of an active run, which is followed.
  // `clock`: returns the second until which a run in virtual time has lasted.
  constructor({ source, view, inTime, shown, failed, also = async () => {}, home = {}, quiet = false, ...more }) {
    super(source);
    Object.assign(this, { view, inTime, shown, failed, also, home, quiet, ...more });
    this.moves = new MoveSteps(source);
    this.focus = {};
    this.trace = null; // the current cycle
    this.step = -1;
    this.turn = 0;
    this.arriving = false; // whether the text about the shown timepoint is being fetched
    this.playing = 0; // 1, -1 or 0
    this.pace = null; // virtual seconds per second during playback of the clock, as a function
    this.unit = "cycle";
    this.speed = CALM;
    this.nextStop = async () => null; // (cycle, by) -> {cycle, names} or null
  }

  get cycle() {
    return this.focus.cycle;
  }

  // Whether the run is followed as its decisions arrive.
  get live() {
    return Boolean(this.decisions?.live);
  }

  get over() {
    return !this.live || this.decisions.over;
  }

  get head() {
    return this.live ? this.decisions.last : this.world.cycles;
  }

  // Whether no cycle is shown: before the run, after its last cycle so far, or at another timepoint.
  get between() {
    return this.cycle === undefined || this.atStart || Boolean(this.focus.after);
  }

  // The last cycle that is shown: the current one, or the last one before a timepoint between cycles.
  get position() {
    return this.cycleHere - (this.between ? 1 : 0);
  }

  // The number of the current cycle, or of the next one.
  get cycleHere() {
    return this.cycle ?? this.world.cycleAfter(this.world.moment);
  }

  // Whether the cluster before the run is shown.
  get atStart() {
    return Boolean(this.focus.bare) && this.cycle === 1;
  }

  get atEnd() {
    return this.between && this.position >= this.head && (this.live || this.world.moment >= this.world.end);
  }

  // Describes the shown position.
  get place() {
    const { head, position, between, cycleHere } = this;
    const of = number.format(head);
    const place =
      position === head && between
        ? `after ${counted(head, "cycle")}`
        : this.focus.after
          ? `after cycle ${number.format(position)} of ${of}`
          : `${between ? "before cycle" : "cycle"} ${number.format(cycleHere)} of ${of}`;
    return this.inTime ? `${clock(this.second)}, ${place}` : place;
  }

  // The pods that the shown step has decided to evict, or that the shown candidate node would lose.
  get victims() {
    const { trace, step } = this;
    const at = trace?.steps[step];
    if (at && isCandidate(at)) return trace.postfilter.candidates.find(({ node }) => node === at.node)?.victims;
    return !at || at.point === "postfilter" ? trace?.victims : [];
  }

  // The shown second of virtual time.
  get second() {
    const { world, focus } = this;
    if (focus.t !== undefined) return focus.t;
    if (this.atEnd && !this.waits) return this.until;
    return world.timeOf(this.between ? world.moment : (world.cycle.get(this.cycle)?.at ?? world.moment));
  }

  // The last second of virtual time that is known.
  get until() {
    return Math.max(this.world.timeOf(this.world.end), this.waits ? 0 : (this.clock?.() ?? 0));
  }

  // The focus in the URL.
  focusInUrl() {
    const focus = focusIn(location.search);
    const named = focus.cycle !== undefined || focus.t !== undefined || focus.seq !== undefined;
    return named ? focus : { ...focus, ...this.home };
  }

  // Shows the first timepoint: from the URL, else `home`, else the end.
  async open() {
    const focus = this.focusInUrl();
    if (!history.state?.swap) history.replaceState({ ...history.state, own: true }, "");
    const mine = this.turn + 1;
    await this.to(focus, { address: "keep" });
    // the URL names a timepoint that does not exist
    if (!this.world && mine === this.turn) await this.to({}, { address: "keep" });
  }

  // Shows a focus. `address`: "push" adds a history entry, "replace" replaces it, "later" replaces it after a delay,
  // "keep" does not change it.
  async to(focus, { address = "push", animate = false, playing = false } = {}) {
    this.turn += 1;
    const mine = this.turn;
    try {
      const moment = await this.reach(focus);
      if (mine !== this.turn) return;
      const moved = this.world.go(moment);
      this.arriving = true;
      this.focus = { node: this.focus.node, ...focus, after: focus.cycle > this.head };
      if (this.world === this.view.world) this.view.changed(moved, animate && moved.length > 0);
      else this.view.arrange(this.world);
      const cycle = this.cycle !== undefined && !focus.bare && this.cycle <= this.head;
      const fetched = cycle && !(playing && this.unit === "cycle" && this.speed > CALM);
      if (fetched && this.playing > 0) await this.source.ahead(focus.cycle).catch(() => {});
      const trace = fetched ? await this.fetchTrace(focus) : null;
      const event = focus.seq > 0 ? await this.moves.at(focus.seq) : null;
      if (mine !== this.turn) return;
      this.event = event;
      this.trace = trace;
      this.step = trace ? (focus.last ? trace.steps.length - 1 : (focus.step ?? stepOf(trace.steps, focus))) : -1;
      this.named();
      this.view.show(trace && pictured(trace, this.step));
      this.write(address);
      await this.also({ animate, playing });
      if (fetched && playing) await frame(); // draw the map before the text next to it is updated
      if (mine !== this.turn) return;
      this.arriving = false;
      this.shown();
    } catch (error) {
      if (mine !== this.turn) return;
      this.arriving = false;
      this.pause();
      this.failed(error);
    }
  }

  // Selects a node, or none for "".
  choose(node) {
    this.to({ ...this.focus, node: node || undefined, step: this.step }, { address: "push" });
    if (node) this.view.reveal(node);
  }

  // Fetches the cycle, with the scores of the Score plugin of the shown step.
  async fetchTrace(focus) {
    const trace = await this.source.cycle(focus.cycle);
    const at = focus.last ? trace.steps.length - 1 : (focus.step ?? stepOf(trace.steps, focus));
    const step = trace.steps[at];
    return step?.point === "score" && step.plugin ? this.source.cycle(focus.cycle, step.plugin) : trace;
  }

  // Writes the shown step into the focus, by name.
  named() {
    const { cycle, t, seq, node, bare, after } = this.focus;
    const step = this.trace?.steps[this.step];
    this.focus = {
      cycle,
      t,
      seq,
      bare,
      after,
      node: step?.node || node,
      ...(step && { point: step.point, plugin: step.plugin }),
    };
  }

  write(how) {
    clearTimeout(this.settled);
    if (how === "keep" || this.quiet) return;
    if (how === "later") {
      this.settled = setTimeout(() => this.write("replace"), SETTLED);
      return;
    }
    const query = withFocus(location.search, this.focus);
    if (query === location.search) return;
    const address = location.pathname + query + location.hash;
    history[how === "push" ? "pushState" : "replaceState"]({ own: true }, "", address);
  }

  // ---- steps

  // Moves one unit forward or backward.
  async go(unit, by, options = {}) {
    if (!this.world) return;
    if (unit === "move") {
      const move = await this.moves.next(this.world.moment, by, this.world.end);
      if (move) await this.to({ seq: move.seq, t: move.t }, options);
      return;
    }
    const here = this.between;
    const from = { cycle: this.cycleHere, step: this.step };
    // Between two cycles, forward goes to the next cycle and backward to the previous one.
    const to =
      here && by > 0
        ? { ...from, step: -1 }
        : here
          ? { cycle: Math.max(1, from.cycle - 1), step: -1, bare: this.focus.bare }
          : next(from, this.trace?.steps ?? [], unit, by, this.head);
    await this.to(to, { animate: by > 0 && to.cycle !== from.cycle, ...options });
  }

  // Goes to the nearest cycle where an expression is true. Returns whether there is one.
  async find(where, by) {
    const from = Math.max(1, this.cycleHere + (this.cycle === undefined && by > 0 ? 0 : by));
    if (from > this.head) return false;
    const { matches } = await this.source.find({ where, from, direction: by > 0 ? "next" : "previous" });
    if (!matches.length || (by < 0 && this.cycleHere <= 1)) return false;
    await this.to({ cycle: matches[0].cycle });
    return true;
  }

  start() {
    this.pause();
    return this.to({ cycle: 1 });
  }

  // Shows the cluster before the run, without the result of the first cycle.
  before() {
    this.pause();
    return this.to({ cycle: 1, bare: true });
  }

  // Shows the last timepoint. While the run is active, playback continues from there as fast as it runs.
  async end() {
    this.pause();
    this.rested = 0; // the user waits
    const { head } = this;
    await this.to(head ? { cycle: head + 1 } : {});
    if (this.waits) {
      this.speed = FASTEST;
      this.play(1);
    } else if (this.head > head) {
      await this.end(); // the last decisions have arrived meanwhile
    }
  }

  // ---- playback

  pause() {
    if (!this.playing) return;
    Object.assign(this, { playing: 0, pace: null });
    this.shown();
    if (this.cycle !== undefined && !this.trace && !this.between) this.to(this.focus, { address: "replace" });
    else this.write("replace");
  }

  // Plays forward or backward, or pauses. `pace`: of the clock of a run in virtual time, instead of its cycles.
  async play(by, pace = null) {
    if (this.playing || !this.world) {
      const same = this.playing === by && Boolean(this.pace) === Boolean(pace);
      this.pause();
      if (same || !this.world) return;
    }
    Object.assign(this, { playing: by, pace, stopped: "" });
    this.stop = null;
    this.shown();
    if (by > 0 && this.atEnd && !this.waits) await this.to(pace ? { t: 0 } : { cycle: 1 }, { address: "replace" });
    let before = performance.now();
    let owed = 0;
    const play = async (now) => {
      if (this.playing !== by || this.pace !== pace) return;
      const ticks = calm.matches ? CALM_TICKS : TICKS;
      const [count, left] = due(owed, now - before, pace ? ticks : this.speed);
      [owed, before] = [left, now];
      if (count) {
        const over = await (pace ? this.tick(count / ticks) : this.advance(count, by));
        if (this.playing !== by || this.pace !== pace) return;
        if (over) {
          this.pause();
          if (over !== true) this.stopped = over;
          this.shown();
          return;
        }
      } else if (by > 0 && !pace) this.stage(left);
      requestAnimationFrame(play);
    };
    requestAnimationFrame(play);
  }

  // Whether more decisions may follow.
  get waits() {
    return this.live && !this.world?.complete;
  }

  // The last cycle that playback can show without a request to the server.
  get reached() {
    return this.live ? Math.min(this.head, this.world.cycles) : this.head;
  }

  // The cycle from which playback continues: between two cycles, the next one has not been shown.
  from(by) {
    return this.cycleHere - (this.between && by > 0 ? 1 : 0);
  }

  // Returns the next breakpoint of playback, searched again when an active run has continued.
  async nextHit(by) {
    const { head } = this;
    if (!this.stop?.hit && this.stop?.head !== head) {
      const hit = await this.nextStop(this.from(by), by).catch((error) => this.failed(error));
      this.stop = { head, hit };
    }
    return this.stop.hit;
  }

  // Shows the stage of the current cycle that is due. `part`: of the time until the next cycle, from 0 to 1.
  stage(part) {
    const { trace, speed } = this;
    if (this.unit !== "cycle" || !trace || speed > CALM) return;
    const all = stages(trace.steps, speed);
    const at = all[Math.min(all.length - 1, Math.floor(part * (all.length + 1)))]; // the result takes twice as long
    if (at === this.step) return;
    this.step = at;
    this.view.show(pictured(trace, at, true));
    this.shown();
  }

  // Advances the clock by seconds of real time. Returns as `advance`.
  async tick(passed) {
    const stop = await this.nextHit(1);
    this.ahead(1);
    const t = Math.min(this.second + passed * this.pace(), this.until);
    const stops = stop && stop.t <= t;
    await this.to(stops ? { cycle: stop.cycle } : { t }, { address: "later", playing: true });
    return stops ? stop.names.join(", ") : t >= this.until && !this.waits;
  }

  // Advances playback by a number of steps. Returns true at the end, or the name of the breakpoint.
  async advance(count, by) {
    const stop = await this.nextHit(by);
    const calm = this.speed <= CALM;
    const options = { address: "later", playing: true, animate: by > 0 && calm };
    if (this.unit === "cycle") {
      const most = this.reached;
      const { cycle, stopped } = played(this.from(by), Math.min(count, MOST), by, stop ? [stop.cycle] : [], most);
      this.ahead(by);
      if (cycle !== this.cycle || this.between) await this.to({ cycle, ...(calm && by > 0 && { step: 0 }) }, options);
      if (calm && by > 0 && cycle + NEXT <= this.head) this.source.ahead(cycle + NEXT).catch(() => {});
      if (calm && by < 0 && cycle > 1) this.source.cycle(cycle - 1).catch(() => {});
      if (stop?.cycle === cycle) return stop.names.join(", ");
      return stopped && !(by > 0 && (this.waits || most < this.head));
    }
    const before = `${this.world.moment} ${this.cycle} ${this.step}`;
    const was = this.cycle;
    await this.go(this.unit, by, options);
    if (stop && this.cycle === stop.cycle && was !== stop.cycle) return stop.names.join(", ");
    const ended = before === `${this.world.moment} ${this.cycle} ${this.step}` || (by > 0 && this.atEnd);
    return ended && !(by > 0 && this.waits);
  }

  // Opens an active run and plays the decisions that arrive, unless the URL names a timepoint.
  async followDecisions() {
    if (this.world) return this.shown();
    if (this.opening) return undefined;
    this.opening = true;
    const { cycle } = focusIn(location.search);
    await this.open();
    this.opening = false;
    return this.world && cycle === undefined ? this.play(1) : undefined;
  }
}
