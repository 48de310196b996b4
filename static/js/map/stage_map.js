// <stage-map>: a cluster, and one decision in it as far as it may be seen: the map with a player of its stages. For lessons
// and presentations (templates/parts/stage_map.html). It starts wherever it is inserted into a page.
import { el } from "../dom.js";
import { fetchJson } from "../requests.js";
import { World } from "./cluster_model.js";
import { Controls, listenToKeys } from "./controls.js";
import { choices, usual } from "./grouping.js";
import { Legend } from "./legend.js";
import { Player } from "./player.js";
import { amount, resourceName, scarceResource } from "./quantities.js";
import { SavedSource } from "./saved_source.js";
import { pointName } from "./stepper.js";
import "./moving_picture.js";
import { tableSwitch } from "./table_switch.js";
import { words } from "./verdicts.js";
import { View } from "./view.js";

const SPEED = 2; // steps per second at the beginning
const USUAL_SIZE = 16; // pixels of the page's font, which is larger for an audience
const NAMES = 6; // nodes listed by name
const BEFORE = { cycle: 1, bare: true };
const fetched = new Map(); // address -> the cluster; the slides of a cycle share one

// A player of one cycle whose steps end with the last one that may be seen.
class StagePlayer extends Player {
  focusInUrl() {
    return this.home;
  }

  get place() {
    const { steps } = this.source.saved[0];
    return `step ${this.between ? 0 : this.step + 1} of ${steps.length}`;
  }

  async go(unit, by, options) {
    const { steps } = this.source.saved[0];
    const here = this.between ? -1 : this.step;
    const ends = (at) => unit === "plugin" || steps[at].point !== steps[at + 1]?.point;
    const stops = [-1, ...steps.keys()].filter((at) => at < 0 || ends(at));
    const step = by > 0 ? stops.find((at) => at > here) : stops.findLast((at) => at < here);
    if (step !== undefined) await this.to(step < 0 ? BEFORE : { cycle: 1, step }, options);
  }

  start() {
    this.pause();
    return this.to(BEFORE);
  }

  end() {
    this.pause();
    return this.to({ cycle: 1, last: true });
  }

  async play(by, pace) {
    if (!this.playing && by > 0 && this.step === this.source.saved[0].steps.length - 1) await this.to(BEFORE);
    return super.play(by, pace);
  }
}

class StageMap extends HTMLElement {
  connectedCallback() {
    if (this.player) return; // it was moved
    this.begin().catch((error) => {
      this.part("stage").textContent = error.message;
    });
  }

  part(name) {
    return this.querySelector(`[data-${name}]`);
  }

  async begin() {
    const stages = JSON.parse(this.querySelector("script").textContent);
    const view = new View(this.part("canvas"), (node) => this.player.choose(node));
    const { moments } = stages; // of a moving picture, which moves this map
    const picture = await clusterOf(stages);
    const own = moments ? stages : { changes: onlyCycle(picture), cycles: [stages.cycle] };
    this.player = new StagePlayer({
      source: new SavedSource({ ...stages, picture, ...own }),
      view,
      inTime: false,
      shown: () => this.show(),
      failed: (error) => {
        this.part("stage").textContent = error.message;
      },
      home: moments?.[0] ?? (stages.cycle.steps.length ? { cycle: 1, last: true } : BEFORE),
      quiet: true,
    });
    this.view = view;
    this.stages = stages;
    this.controls = moments ? null : new Controls(this, this.player, false);
    this.legend = new Legend(this.part("shades"), view);
    this.showTable = tableSwitch(this, view, this.player);
    view.tallest = Number(this.dataset.tallest);
    view.enlarge(Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / USUAL_SIZE);
    this.look(new World(picture));
    if (this.controls) {
      Object.assign(this.player, { unit: "plugin", speed: SPEED });
      this.part("unit").value = this.player.unit;
    }
    await this.player.open();
  }

  // Groups the nodes as usual, and fills them by the resource that the pod lacks.
  look(world) {
    const { by } = this.view;
    const pods = [...world.pods.values()].filter(({ key }) => key === this.stages.pod);
    by.group = usual(choices(world.nodes.values()));
    by.colour = "verdict";
    by.fill = scarceResource(world, pods) || "cpu";
    const request = pods[0] && `, ${amount(pods[0].requests[by.fill] ?? 0, by.fill)} ${resourceName(by.fill)}`;
    this.part("hand").hidden = !this.stages.pod;
    this.part("hand").textContent = `${this.stages.pod.replace(/^default\//, "")}${request ?? ""}`;
  }

  show() {
    const { player, view } = this;
    if (player.arriving) return;
    view.evicting(player.victims);
    view.mark(player.focus.node ?? "");
    this.controls?.show();
    this.legend.show();
    this.showTable();
    if (!this.controls) return;
    const { point, plugin, node, message } = player.trace?.steps[player.step] ?? {};
    const parts = [point && pointName(point), plugin, node, message].filter(Boolean);
    this.part("stage").textContent = parts.length ? parts.join(" · ") : this.dataset.before;
    this.part("verdicts")?.replaceChildren(...this.verdicts());
  }

  // The nodes by verdict, as text.
  verdicts() {
    const { picture, world } = this.view;
    const groups = Map.groupBy(world.nodes.keys(), (name) => words(picture.of.get(name), picture));
    return [...groups]
      .filter(([text]) => text)
      .map(([text, nodes]) => {
        const names =
          nodes.slice(0, NAMES).join(", ") + (nodes.length > NAMES ? ` and ${nodes.length - NAMES} more` : "");
        return el("li", { class: "wrap" }, el("span", { class: "name", text: names }), `: ${text}`);
      });
  }
}

// Returns the cluster before the cycle.
async function clusterOf({ picture, address }) {
  if (picture) return picture;
  if (!fetched.has(address)) {
    fetched.clear();
    fetched.set(address, fetchJson(address, "The cluster could not be loaded."));
  }
  return fetched.get(address);
}

// The changes of a recording that ends with the cycle, and in which nothing changes.
function onlyCycle(picture) {
  const [from, to] = [picture.moment, picture.moment + 1];
  Object.assign(picture, { end: to, cycles: 1, cycle: 1 });
  const none = { at: [], id: [], t: [] };
  const cycles = { number: [1], at: [to], pod: [""] };
  return { from, to, end: to, total: 1, places: none, pods: none, nodes: [], nominated: [], cycles, instants: none };
}

customElements.define("stage-map", StageMap);
listenToKeys(() => document.querySelector("moving-picture") ?? document.querySelector("stage-map")?.player);
