// Loads the cluster of a run and its change stream, piece by piece.
import { World } from "./cluster_model.js";

// distance in cycles or timepoints up to which the change stream is followed; farther ones are loaded directly
const NEAR = 3000;
const LEAST_REST = 400; // milliseconds
const RESTS = 3; // the rest as a multiple of the time that a response took
const AHEAD = 600; // timepoints of the stream that are prefetched during playback

export class StreamLoader {
  constructor(source) {
    this.source = source;
    this.world = null;
    this.rested = 0; // when the server has rested from the last piece of an active run
  }

  // The number of cycles of the run.
  get head() {
    return this.world.cycles;
  }

  // Whether the run is over, so that nothing is recorded any more.
  get over() {
    return true;
  }

  // Whether there are changes that the stream does not cover yet, or may be.
  get unread() {
    const { world } = this;
    return world.to < world.end || this.head > world.cycles || (this.over && !world.complete);
  }

  // Returns the timepoint of a focus, after the change stream covers it.
  async reach(focus) {
    for (let tries = 0; tries < 3; tries += 1) {
      const moment = this.world && this.wanted(focus);
      if (moment !== undefined && moment !== null && this.world.covers(moment)) return moment;
      const way = tries < 2 && this.world ? this.way(focus) : 0;
      if (way) await this.more(way);
      else await this.jump(focus);
    }
    return this.wanted(focus) ?? this.world.moment;
  }

  wanted({ cycle, t, seq }) {
    const { world } = this;
    if (cycle !== undefined) return world.beforeCycle(cycle);
    if (seq !== undefined) return Math.min(seq, world.end);
    return t === undefined ? world.end : world.afterTime(t);
  }

  // Returns 1 or -1 if the focus is near in that direction of the change stream, else 0.
  way({ cycle, t, seq }) {
    const { world } = this;
    const here = world.cycleAfter(world.moment);
    const far = cycle !== undefined ? cycle - here : seq !== undefined ? seq - world.moment : 0;
    const later = t !== undefined && cycle === undefined && seq === undefined;
    const by = later ? Math.sign(t - world.timeOf(world.moment)) : Math.sign(far);
    const more = by > 0 ? this.unread : world.from > 0;
    return Math.abs(far) <= NEAR && more ? by : 0;
  }

  // Fetches the next piece of the change stream. Concurrent calls share one fetch.
  async more(by) {
    const { world } = this;
    if (by > 0 ? !this.unread : world.from <= 0) return;
    this.fetching ??= this.fetch(by).finally(() => {
      this.fetching = null;
    });
    const [piece, complete] = await this.fetching;
    if (world === this.world && (piece.from === world.to || piece.to === world.from)) world.add(piece, complete);
  }

  // Returns the next piece, and whether it is of the complete run. The pieces of an active run are fetched at intervals,
  // since the server reads its whole recording for each.
  async fetch(by) {
    const { world, source } = this;
    const known = world.complete;
    if (by < 0) return [await source.piece({ until: world.from }), known];
    if (world.to < world.end) return [await source.piece({ after: world.to }), known];
    await new Promise((resolve) => setTimeout(resolve, this.rested - performance.now()));
    const began = performance.now();
    const { over } = this;
    const piece = await source.piece({ after: world.to });
    const now = performance.now();
    this.rested = now + Math.max(LEAST_REST, RESTS * (now - began));
    return [piece, over];
  }

  // Prefetches the change stream before playback reaches its end.
  ahead(by) {
    const { to, from, moment } = this.world;
    if (by > 0 && to - moment < AHEAD) this.more(1).catch(() => {});
    if (by < 0 && moment - from < AHEAD) this.more(-1).catch(() => {});
  }

  async jump({ cycle, t, seq }) {
    const where = cycle !== undefined ? { cycle } : seq !== undefined ? { seq } : t !== undefined ? { t } : {};
    const { over } = this;
    const world = new World(await this.source.picture(where));
    world.add(await this.source.piece({ after: world.moment }), over);
    if (cycle !== undefined && world.moment > 0 && !world.cycle.has(cycle))
      world.add(await this.source.piece({ until: world.from }), over);
    this.world = world;
  }
}
