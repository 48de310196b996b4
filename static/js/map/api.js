// Requests of the map.
import { fetchJson } from "../requests.js";

const KEPT = 60; // cycles in memory
const TOGETHER = 20; // cycles of one response

export class Source {
  constructor(base) {
    this.base = base;
    this.coming = null; // the cycles that are being fetched together
    this.cycles = new Map();
    this.ladders = new Map();
    this.names = new Map(); // version -> node names of the rows
  }

  get(path, options) {
    return fetchJson(this.base + path, "The run could not be loaded.", options);
  }

  // `where`: {cycle}, {t} or {seq}.
  picture(where) {
    return this.get(`/map?${new URLSearchParams(where)}`);
  }

  // `where`: {after} or {until}.
  piece(where) {
    return this.get(`/map/tape?${new URLSearchParams(where)}`);
  }

  // Fetches a cycle step by step, with the scores of a Score plugin. A few cycles are cached.
  async cycle(number, scores = "") {
    const key = `${number} ${scores}`;
    const known = this.cycles.get(key);
    if (known) return known;
    const latest = [...this.names.keys()].at(-1) ?? -1;
    const found = await this.get(`/cycles/${number}?${new URLSearchParams({ scores, known: latest })}`);
    if (found.names) this.names.set(found.nodes_version, found.names);
    found.names = this.names.get(found.nodes_version);
    this.remember(key, found);
    return found;
  }

  // Fetches the nodes by the changes that a pod needs: before a cycle, or at the end. `anew`: the cluster changes.
  async ladder(pod, cycle = null, anew = false) {
    const key = `${pod} ${cycle}`;
    const known = this.ladders.get(key);
    if (known && !anew) return known;
    const path = pod.split("/").map(encodeURIComponent).join("/");
    const found = await this.get(`/pods/${path}/ladder${cycle ? `?cycle=${cycle}` : ""}`);
    this.ladders.set(key, found);
    if (this.ladders.size > 8) this.ladders.delete(this.ladders.keys().next().value);
    return found;
  }

  remember(key, found) {
    this.cycles.set(key, found);
    if (this.cycles.size > KEPT) this.cycles.delete(this.cycles.keys().next().value);
  }

  // Fetches a cycle and the ones after it, for playback: successive cycles are small if they come together.
  ahead(number) {
    if (this.cycles.has(`${number} `)) return Promise.resolve();
    if (!this.coming || number < this.coming.from || number >= this.coming.from + TOGETHER)
      this.coming = { from: number, done: this.together(number) };
    return this.coming.done;
  }

  async together(first) {
    const query = { since: first - 1, limit: TOGETHER, known: [...this.names.keys()].at(-1) ?? -1 };
    try {
      const { cycles } = await this.get(`/cycles?${new URLSearchParams(query)}`);
      for (const one of cycles) {
        if (one.names) this.names.set(one.nodes_version, one.names);
        one.names = this.names.get(one.nodes_version);
        this.remember(`${one.number} `, one);
      }
    } finally {
      this.coming = null;
    }
  }

  decisions(since, limit) {
    return this.get(`/decisions?${new URLSearchParams({ since, limit })}`);
  }

  find(query) {
    return this.get(`/find?${new URLSearchParams(query)}`);
  }

  events(since, limit) {
    return this.get(`/events?${new URLSearchParams({ since, limit })}`);
  }

  breakpoints() {
    return this.get("/breakpoints");
  }

  keep(breakpoint) {
    const body = JSON.stringify(breakpoint);
    return this.get("/breakpoints", { method: "POST", body, headers: { "Content-Type": "application/json" } });
  }

  drop(number) {
    return this.get(`/breakpoints/${number}`, { method: "DELETE" });
  }
}
