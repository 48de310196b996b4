// The world of a run and the tape that leads through it, fetched piece by piece.
import { World } from "./cluster_model.js";

const NEAR = 3000; // cycles or moments that are reached along the tape; farther ones are asked for at once
const AHEAD = 600; // of the tape that is fetched before playing comes to its end

export class Reel {
  constructor(source) {
    this.source = source;
    this.world = null;
  }

  // The moment of a focus, once the tape leads there.
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

  // 1 or -1 if the focus lies near along the tape, else 0.
  way({ cycle, t, seq }) {
    const { world } = this;
    const here = world.cycleAfter(world.moment) ?? world.cycles + 1;
    const far = cycle !== undefined ? cycle - here : seq !== undefined ? seq - world.moment : 0;
    const later = t !== undefined && cycle === undefined && seq === undefined;
    const by = later ? Math.sign(t - world.timeOf(world.moment)) : Math.sign(far);
    const room = by > 0 ? world.to < world.end : world.from > 0;
    return Math.abs(far) <= NEAR && room ? by : 0;
  }

  // The next piece of tape; asked for once.
  async more(by) {
    const { world } = this;
    if (by > 0 ? world.to >= world.end : world.from <= 0) return;
    this.fetching ??= this.source.piece(by > 0 ? { after: world.to } : { until: world.from }).finally(() => {
      this.fetching = null;
    });
    const piece = await this.fetching;
    if (world === this.world && (piece.from === world.to || piece.to === world.from)) world.add(piece);
  }

  // Fetches more of the tape before playing comes to its end.
  ahead(by) {
    const { to, from, moment } = this.world;
    if (by > 0 && to - moment < AHEAD) this.more(1).catch(() => {});
    if (by < 0 && moment - from < AHEAD) this.more(-1).catch(() => {});
  }

  async jump({ cycle, t, seq }) {
    const where = cycle !== undefined ? { cycle } : seq !== undefined ? { seq } : t !== undefined ? { t } : {};
    const world = new World(await this.source.picture(where));
    world.add(await this.source.piece({ after: world.moment }));
    if (cycle !== undefined && world.moment > 0 && !world.cycle.has(cycle))
      world.add(await this.source.piece({ until: world.from }));
    this.world = world;
  }
}
