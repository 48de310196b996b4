// Outline of the text as forms: the scenario, nodes, workloads, pods and all other objects.
import { el } from "../dom.js";
import { counted } from "../format.js";
import { Card } from "./cards.js";
import { button, fields } from "./fields.js";
import { KINDS } from "./kinds.js";
import { listed } from "./name_suggestions.js";
import * as alike from "./node_groups.js";
import { fresh as freshNodes, nodeFields, says as saysNodes } from "./nodes.js";
import { ABOUT, ARRIVALS, timeline } from "./scenario_form.js";
import { SCHEDULER, saysScheduler, scheduler } from "./scheduler.js";
import { get, set, unused } from "./values.js";

const NODES = "Nodes";
const HEADINGS = [NODES, ...new Set(Object.values(KINDS).map(({ group }) => group)), "Other objects"];
const COMMON = ["Nodes", "Deployment", "Pod"];

// Returns the buttons of a card.
const acts = (title, { show, duplicate, remove }) => [
  { name: "Show in YAML", do: show },
  { name: "Duplicate", label: `Duplicate ${title}`, do: duplicate },
  { name: "Delete", label: `Delete ${title}`, do: remove },
];

export class Outline {
  // `change(make)`: applies the changes of `make()` to the text after the forms are up to date. `lines(thing)`: shows
  // an object in the editor. `scoring`: address of the form of strategy and weights.
  constructor(box, { change, lines, scoring }) {
    Object.assign(this, { box, change, lines, scoring });
    this.cards = new Map();
    this.wanted = ""; // key of the card to open when it exists
    this.lists = el("div", { hidden: "" });
    this.about = this.fixed("about");
    this.plan = this.fixed("plan");
    this.scheduler = this.fixed("scheduler");
    this.places = new Map(HEADINGS.map((name) => [name, el("div", { class: "stack-s" })]));
    this.sections = [...this.places].map(([name, place]) => {
      const id = `h-${name.toLowerCase().replaceAll(" ", "-")}`;
      return el("section", { class: "stack-s", "aria-labelledby": id }, el("h2", { id, text: name }), place);
    });
    this.nothing = el(
      "p",
      { class: "empty" },
      el("strong", { text: "Nothing here yet" }),
      " Add nodes first, then a Deployment or a pod. You can also type or paste YAML.",
    );
    const cards = [this.about, this.plan, this.scheduler].map(({ details }) => details);
    const scenario = el("section", { class: "stack-s" }, el("h2", { text: "The scenario" }), ...cards);
    box.replaceChildren(this.lists, this.adding(), this.nothing, ...this.sections, scenario);
  }

  fixed(key) {
    return new Card({ key, title: "", line: "", signature: "-", make: () => [] });
  }

  adding() {
    const others = Object.keys(KINDS).filter((kind) => !COMMON.includes(kind));
    const select = el("select", { "aria-label": "Another kind" });
    select.append(...others.map((kind) => el("option", { value: kind, text: kind })));
    const add = button("Add", { "data-add": "other" }, () => this.add(select.value));
    return el(
      "div",
      { class: "row adding", role: "group", "aria-label": "Add" },
      ...COMMON.map((kind) =>
        button(`Add ${kind === "Nodes" ? "nodes" : `a ${kind}`}`, { "data-add": kind }, () => this.add(kind)),
      ),
      el("span", { class: "row" }, select, add),
    );
  }

  add(kind) {
    this.change(() => {
      if (kind !== "Nodes") {
        const name = unused(KINDS[kind].name, this.namesOf(kind));
        this.wanted = `${kind}/default/${name}`;
        return [{ add: KINDS[kind].fresh(name), after: null }];
      }
      const stem = alike.unusedStem("n-", this.namesOf("Node"));
      this.wanted = `nodes/${stem}`;
      const last = this.reading.things.findLastIndex((one) => one.kind === "Node");
      return freshNodes(stem).map((add) => ({ add, after: last >= 0 ? last : null }));
    });
  }

  namesOf(kind) {
    return this.reading.things.filter((one) => one.kind === kind).map(({ name }) => name);
  }

  show(reading) {
    this.reading = reading;
    this.names = listed(reading.things);
    this.lists.replaceChildren(...this.names.datalists);
    const kept = new Map(this.cards);
    const groups = alike.groups(reading.things);
    const wanted = [
      ...groups.map((group, at) => this.ofNodes(group, at, groups)),
      ...reading.things.map((thing, number) => thing.kind !== "Node" && this.ofThing(thing, number)).filter(Boolean),
    ];
    const places = new Map(HEADINGS.map((name) => [name, []]));
    this.cards = new Map();
    for (const what of wanted) {
      const same =
        kept.get(what.key) ??
        [...kept.values()].find(
          (one) => one.number === what.number && one.kind === what.kind && !wanted.some(({ key }) => key === one.key),
        );
      if (same) kept.delete(same.key);
      const card = same ?? new Card(what);
      if (same) card.become(what);
      what.self.card = card;
      this.cards.set(what.key, card);
      places.get(what.heading).push(card.details);
    }
    [...places.values()].forEach((list, at) => {
      const place = this.places.get(HEADINGS[at]);
      if (list.length !== place.children.length || list.some((one, index) => place.children[index] !== one))
        place.replaceChildren(...list);
      this.sections[at].hidden = !list.length;
    });
    this.nothing.hidden = wanted.length > 0;
    this.showScenario(reading);
    const next = this.cards.get(this.wanted);
    if (next) next.open();
    if (next) this.wanted = "";
  }

  showScenario({ scenario, config, release }) {
    const value = scenario?.value ?? {};
    const put = (path, now) => {
      this.change(() => [{ scenario: set(this.reading.scenario?.value ?? {}, path, now) ?? {} }]);
    };
    const made = (specs) => () => fields(specs, [], value, put);
    const about = JSON.stringify([value.metadata, { ...value.spec, timeline: 0 }]);
    const name = get(value, ["metadata", "name"]) ?? "";
    this.about.become({ title: "About", line: name || "no name yet", signature: about, make: made(ABOUT) });
    const events = get(value, ["spec", "timeline"]) ?? [];
    const arrivals = get(value, ["spec", "arrivals"]) ?? [];
    const streams = arrivals.length ? `, ${counted(arrivals.length, "stream")} of pods` : "";
    const names = JSON.stringify([events, arrivals, this.names.nodes]);
    this.plan.become({
      title: "Timeline",
      line: (events.length ? counted(events.length, "event") : "no events") + streams,
      signature: names,
      make: made([timeline(this.names), ARRIVALS]),
    });
    const place = config ? "config" : "scenario";
    const held = config ? config.value : get(value, ["spec", "config"]);
    const set_config = (now) => {
      if (place === "config") this.change(() => [{ config: now ?? null }]);
      else put(["spec", "config"], now);
    };
    const score = (scoring) => this.change(() => [{ scoring }]);
    this.scheduler.become({
      title: SCHEDULER,
      line: saysScheduler(held),
      signature: JSON.stringify([held, release]),
      make: () => scheduler(held, release, this.scoring, { put: set_config, score }),
    });
  }

  ofNodes(group, at, groups) {
    const same = groups.slice(0, at).filter((one) => one.stem === group.stem).length;
    const key = `nodes/${group.stem}${same ? `#${same}` : ""}`;
    const title = alike.title(group);
    const { things } = this.reading;
    const taken = things
      .filter(({ kind }, number) => kind === "Node" && !group.things.includes(number))
      .map(({ name }) => name);
    const self = {};
    const change = (make) => this.change(() => (this.here(self) ? make(self.card.group) : []));
    return {
      self,
      key,
      group,
      number: group.things[0],
      kind: "Node",
      heading: NODES,
      title,
      line: saysNodes(group),
      bad: group.things.reduce((sum, one) => sum + things[one].bad, 0),
      signature: JSON.stringify([group.values, group.zones]),
      make: () => nodeFields(group, taken, change),
      acts: acts(title, {
        show: () => this.lines(things[group.things[0]]),
        duplicate: () =>
          change((one) => {
            const stem = alike.unusedStem(one.stem, this.namesOf("Node"));
            this.wanted = `nodes/${stem}`;
            return alike.copied(one, stem);
          }),
        remove: () => change((one) => one.things.map((thing) => ({ thing, remove: true }))),
      }),
    };
  }

  ofThing(thing, number) {
    const { kind, name, namespace, value } = thing;
    const known = KINDS[kind];
    const key = `${kind}/${namespace || "default"}/${name}`;
    const self = {};
    const now = (make) => this.change(() => (this.here(self) ? [{ thing: self.card.number, ...make(self.card) }] : []));
    const put = (path, held) => now((card) => ({ value: set(card.value, path, held) ?? {} }));
    return {
      self,
      key,
      number,
      kind,
      value,
      acts: acts(`${kind} ${name}`, {
        show: () => this.lines(this.reading.things[self.card.number]),
        duplicate: () => this.duplicate(thing, number),
        remove: () => now(() => ({ remove: true })),
      }),
      heading: known?.group ?? "Other objects",
      title: `${kind || "Object"} ${name}`,
      line: known ? known.says(value) : "has no form; edit the YAML",
      bad: thing.bad,
      says: thing.says,
      signature: JSON.stringify(value),
      make: () => (known ? fields(known.fields, [], value, put) : []),
    };
  }

  // Whether the card of an entry still exists.
  here({ card }) {
    return card && this.cards.get(card.key) === card;
  }

  // Duplicates an object. Labels that equal its name are renamed too.
  duplicate({ kind, name, namespace, value }, number) {
    const now = unused(name, this.namesOf(kind));
    const renamed = (held, labels = false) => {
      if (labels && held === name) return now;
      if (Array.isArray(held)) return held.map((one) => renamed(one));
      if (held === null || typeof held !== "object") return held;
      const entries = Object.entries(held);
      return Object.fromEntries(
        entries.map(([key, one]) => [key, renamed(one, labels || key === "labels" || key === "matchLabels")]),
      );
    };
    this.wanted = `${kind}/${namespace || "default"}/${now}`;
    this.change(() => [{ add: set(renamed(value), ["metadata", "name"], now), after: number }]);
  }

  // Opens the card of an object.
  open(kind, name) {
    const number = this.reading?.things.findIndex((one) => one.kind === kind && one.name === name);
    const card = [...this.cards.values()].find(
      (one) => one.group?.things.includes(number) || (!one.group && one.number === number),
    );
    card?.open();
  }
}
