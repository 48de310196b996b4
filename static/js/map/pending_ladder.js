// The nodes by the changes that a pending pod needs, on the map of a scenario or of a live cluster.
import { Source } from "./api.js";
import { nearest } from "./ladder.js";
import { PodTrial } from "./pod_trial.js";
import { scarceResource } from "./quantities.js";
import { laddered } from "./verdicts.js";
import { NOTHING } from "./view.js";

const OFFERED = 200; // pods, one of each workload
const TRIED = 5; // pods to find one that has a ladder
const OFTEN = 5000; // milliseconds between requests about the same pod while its cluster changes

export class PendingLadder {
  // `box`: has the API's address of the cluster in `data-ladders`, and in `data-pod` the pod of the page. `changed`:
  // called with the pod when another one or other nodes are shown.
  constructor(box, map, changed) {
    Object.assign(this, { box, map, changed });
    this.source = new Source(box.dataset.ladders);
    this.trial = new PodTrial(box, map.view);
    this.pod = "";
    this.chosen = false; // by the user
    this.without = new Set(); // pods that no node was looked at for, such as those of other schedulers
    this.requested = { pod: "", at: 0 };
  }

  // Shows the nodes for the chosen pod, by default for the first pending one that nodes were looked at for.
  async show() {
    const keys = this.pods().map(({ key }) => key);
    if (!keys.includes(this.pod)) {
      this.chosen = false;
      this.pod = keys.find((key) => !this.without.has(key)) ?? keys[0] ?? "";
    }
    const { pod, requested } = this;
    const others = keys.map((key) => ({ pod: key }));
    this.trial.offer(pod, 0, others, (other) => {
      this.pod = other;
      this.chosen = true;
      this.show();
    });
    if (!pod) this.draw([]);
    clearTimeout(this.later);
    const early = requested.pod === pod ? requested.at + OFTEN - performance.now() : 0;
    if (pod && early > 0) this.later = setTimeout(() => this.show(), early);
    if (!pod || early > 0) return;
    this.requested = { pod, at: performance.now() };
    const found = await this.source.ladder(pod, null, true).catch(() => null); // without an answer there are no colours
    if (this.pod !== pod) return;
    this.draw(found?.ladder ?? []);
    if (found?.ladder.length || this.chosen || this.without.has(pod) || this.without.size >= TRIED) return;
    this.without.add(pod);
    this.pod = "";
    await this.show();
  }

  draw(ladder) {
    const { map, trial, pod } = this;
    const { view } = map;
    trial.near(ladder);
    view.show(ladder.length ? laddered(NOTHING, ladder) : NOTHING);
    const pods = [...view.world.pods.values()].filter(({ key }) => key === pod);
    if (ladder.length) map.choices.prefer(scarceResource(view.world, pods, nearest(ladder)));
    map.legend.show();
    map.showTable();
    this.changed(pod);
  }

  // Returns the pods to choose from: that of the page, or the first pending one of each workload.
  pods() {
    const { world } = this.map.view;
    const pending = world?.pending() ?? [];
    const { pod } = this.box.dataset;
    if (pod) return pending.filter(({ key }) => key === pod);
    const workloadOf = ({ key, owner, requests }) =>
      `${key.slice(0, key.indexOf("/"))} ${owner} ${owner ? "" : JSON.stringify(requests)}`;
    return [...Map.groupBy(pending, workloadOf).values()].map(([first]) => first).slice(0, OFFERED);
  }
}
