// The decisions of a run, one short summary per cycle (docs/websocket.md): from the websocket while the run is active,
// else from the API, a part at a time. Memory is bounded: decisions far from those that are read are forgotten.
import { connect } from "../socket.js";

const KEPT = 5000; // decisions in memory
const PART = 200; // decisions of one response

export class Decisions {
  // `last`: the number of decisions so far. `live`: whether the run is active, so that more follow.
  constructor(source, last, live) {
    Object.assign(this, { source, last, live, over: !live });
    this.known = new Map(); // cycle -> decision
    this.loading = new Map(); // first cycle of a part -> promise
  }

  // Receives the decisions of an active run. `changed`: called after each message and at the end.
  follow(address, changed) {
    connect(address, {
      query: () => ({ since: this.last }),
      onMessage: ({ decisions }) => {
        for (const one of decisions) {
          if (one.cycle !== this.last + 1) continue; // received before a reconnection
          this.last = one.cycle;
          if (this.known.size < KEPT) this.known.set(one.cycle, one);
        }
        changed();
      },
      onEnd: () => {
        this.over = true;
        changed();
      },
    });
  }

  // Loads the decisions from one cycle to another, unless they are known.
  async load(first, last) {
    for (let cycle = first; cycle <= Math.min(last, this.last); cycle += 1) {
      if (this.known.has(cycle)) continue;
      const begin = cycle - ((cycle - 1) % PART);
      if (!this.loading.has(begin)) {
        const loaded = this.source.decisions(begin - 1, PART).then(({ decisions }) => {
          for (const one of decisions) if (one.cycle <= this.last) this.known.set(one.cycle, one);
        });
        this.loading.set(
          begin,
          loaded.finally(() => this.loading.delete(begin)),
        );
      }
      await this.loading.get(begin);
      if (!this.known.has(cycle)) return; // not recorded
    }
    this.forget(first);
  }

  // Forgets decisions before a cycle, then those far behind it, until few enough are left.
  forget(near) {
    for (const cycle of this.known.keys()) {
      if (this.known.size <= KEPT) return;
      if (cycle < near || cycle > near + PART) this.known.delete(cycle);
    }
  }

  // Returns the known decisions from one cycle to another.
  between(first, last) {
    const found = [];
    for (let cycle = first; cycle <= last; cycle += 1) if (this.known.has(cycle)) found.push(this.known.get(cycle));
    return found;
  }
}
