// Fetches the data of the charts over virtual time: overviews, and time windows, which are cached.
import { fetchJson } from "../requests.js";
import { Stretch } from "./time_window.js";

const BINS = 960; // number of time intervals in an overview
const KEPT = 16; // cached windows

export class Source {
  constructor(base) {
    this.base = base;
    this.stretches = [];
    this.pending = new Map();
  }

  get(path) {
    return fetchJson(this.base + path, "The timeline of this run could not be loaded.");
  }

  overview(axis) {
    const part = axis ? `&from=${axis.from}&to=${axis.to}` : "";
    return this.get(`/lanes/overview?bins=${BINS}${part}`);
  }

  moment(t, since = 0) {
    return this.get(`/moment?t=${t}&since=${since}`);
  }

  // Returns the cached window around a second, if any.
  have(t) {
    return this.stretches.find((stretch) => stretch.holds(t));
  }

  // Returns the window around a second, fetched if it is not cached. Concurrent requests share one fetch.
  async stretch(t) {
    const here = this.have(t);
    if (here) return here;
    if (!this.pending.has(t)) {
      const answer = this.get(`/lanes/stretch?t=${t}`).finally(() => this.pending.delete(t));
      this.pending.set(t, answer);
    }
    const found = new Stretch(await this.pending.get(t));
    if (!this.have(t)) this.stretches = [found, ...this.stretches].slice(0, KEPT);
    return this.have(t) ?? found;
  }

  // The run has continued, so the cached last window is incomplete.
  forgetEnd() {
    const end = Math.max(0, ...this.stretches.map(({ to }) => to));
    this.stretches = this.stretches.filter(({ to }) => to < end);
  }
}
