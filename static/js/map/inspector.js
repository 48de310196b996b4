// Panel next to the map: the current pod with the steps of its cycle, and the selected node.
import { button, el } from "../dom.js";
import { counted, number } from "../format.js";
import { nodeAddress, podAddress } from "../timeline/labels.js";
import { ofNode, ofPlugin, ofPod, ofReason } from "./breakpoints.js";
import { DELETING } from "./cluster_model.js";
import { describe } from "./moves.js";
import { requestOf, usageOf } from "./quantities.js";
import { pointName } from "./stepper.js";
import { withFocus } from "./url_state.js";
import { words } from "./verdicts.js";
import { whatIf } from "./what_if.js";

const PODS = 14; // pods of a node listed initially
const BEFORE = ["preenqueue", "prefilter"]; // points that reject a pod before Filter
const EXPLAINED = 6; // pods without a node for which a node is explained
const TONES = { scheduled: "ok", unschedulable: "bad", gated: "held", error: "odd" };

export class Aside {
  constructor(box, player, view) {
    Object.assign(this, { box, player, view });
    this.cycleBox = box.querySelector("[data-cycle]");
    this.nodeBox = box.querySelector("[data-node]");
  }

  show() {
    this.showCycle();
    this.showNode();
  }

  // Returns the address of this page with another focus.
  address(focus) {
    return location.pathname + withFocus(location.search, focus);
  }

  showCycle() {
    const { trace, world, focus } = this.player;
    if (!world) return;
    const { pods } = this.box.dataset;
    if (!trace) {
      this.cycleBox.replaceChildren(...this.noCycle(focus, world));
      return;
    }
    const page = `${podAddress(pods, trace.pod)}${withFocus("", { cycle: trace.number, point: focus.point, plugin: focus.plugin })}`;
    const result = el("span", { class: `badge ${TONES[trace.result] ?? ""}`, text: trace.result });
    const of = el("span", { class: "muted small", text: `of ${number.format(this.player.head)}` });
    const head = el("h3", {}, `Cycle ${number.format(trace.number)} `, of);
    const who = el("p", { class: "row" }, el("a", { href: page, text: trace.pod, class: "name" }), result);
    const again = el(
      "p",
      { class: "row tight" },
      ...offered(ofPod(trace.pod), true),
      whatIf(this.box, "Pod", trace.pod),
    );
    const where = trace.node ? `to ${trace.node}` : trace.nominated ? `nominated to ${trace.nominated}` : trace.message;
    const attempt = el("p", {
      class: "small muted wrap",
      text: `attempt ${trace.attempt}${where ? `, ${where}` : ""}`,
    });
    this.cycleBox.replaceChildren(head, who, attempt, again, this.steps(trace), ...this.reasons(trace));
  }

  noCycle({ seq, t }, world) {
    const { event, playing, between, cycleHere, position, head, waits } = this.player;
    const heading = (text) => el("h3", { text });
    const hint = (text) => el("p", { class: "small muted", text });
    if (this.player.atStart) return [heading("Before the run"), hint("Step forward to see the first decision.")];
    if (event) return [heading(`Event ${number.format(seq)}`), el("p", { class: "wrap", text: describe(event) })];
    if (t !== undefined) return [heading("Between cycles"), hint("Step by cycle to select a pod.")];
    if (playing && !between) return [heading(`Cycle ${number.format(cycleHere)}`)];
    if (waits && position === head)
      return [heading(`After ${counted(head, "cycle")}`), hint("The next decision appears as it is made.")];
    const how = world.cycles ? "Go back one cycle, or to the start, to select a pod." : "No pod was scheduled.";
    return [heading(`After ${counted(position, "cycle")}`), hint(how)];
  }

  // Lists the steps by extension point; those of the current point one by one.
  steps(trace) {
    const { step: shown } = this.player;
    const points = Map.groupBy(trace.steps, ({ point }) => point);
    const items = [...points].map(([point, steps]) => {
      const current = trace.steps[shown]?.point === point;
      const link = this.link(trace.number, steps[0], pointName(point), current);
      const text = steps.length > 1 ? ` ${steps.length} steps` : ` ${steps[0].message}`;
      const inner = steps.map((step) => this.stepItem(trace, step, step === trace.steps[shown]));
      const list = current && steps.length > 1 ? el("ol", {}, ...inner) : "";
      return el("li", { class: current ? "current" : "" }, link, el("span", { class: "tiny muted", text }), list);
    });
    return el("ol", { class: "steps" }, ...items);
  }

  stepItem({ number: cycle, pod }, step, here) {
    const name = step.plugin || (step.point === "score" ? "total" : "the framework");
    const link = this.link(cycle, step, step.node ? `${name}: ${step.node}` : name, here);
    const text = el("span", { class: "tiny muted", text: ` ${step.message}` });
    const item = el("li", { class: here ? "here" : "" }, link, text);
    if (here && step.plugin && step.point === "filter") item.append(" ", ...offered(ofPlugin(step.plugin)));
    if (here && step.node && step.point === "postfilter") {
      const trials = withFocus("", { cycle, point: step.point, node: step.node });
      item.append(" ", el("a", { href: podAddress(this.box.dataset.pods, pod) + trials, text: "dry run" }));
    }
    return item;
  }

  link(cycle, step, text, current) {
    const focus = { cycle, point: step.point, plugin: step.plugin, node: step.node || this.player.focus.node };
    return el("a", { href: this.address(focus), text, "data-focus": "", "aria-current": current ? "step" : undefined });
  }

  // Lists why the cycle rejected nodes, most nodes first.
  reasons(trace) {
    const found = new Map();
    const all = trace.rejected
      ? [
          {
            plugin: trace.rejected.plugin,
            decisive: [{ reasons: trace.rejected.reasons, rows: [[0, trace.nodes - 1]] }],
          },
        ]
      : trace.filters;
    for (const { plugin, decisive } of all)
      for (const { reasons, rows } of decisive)
        for (const reason of reasons) {
          const count = rows.reduce((sum, [first, last]) => sum + last - first + 1, 0);
          const known = found.get(`${plugin} ${reason}`) ?? { plugin, reason, count: 0 };
          known.count += count;
          found.set(`${plugin} ${reason}`, known);
        }
    const rows = [...found.values()].sort((a, b) => b.count - a.count).slice(0, 8);
    if (!rows.length) return [];
    const items = rows.map(({ plugin, reason, count }) => {
      const nodes = el("span", { class: "num", text: `${number.format(count)} ` });
      const before = trace.steps.find((step) => step.plugin === plugin && BEFORE.includes(step.point));
      const focus = { cycle: trace.number, point: (trace.rejected && before?.point) || "filter", plugin };
      const href = podAddress(this.box.dataset.pods, trace.pod) + withFocus("", focus);
      const text = el("a", { class: "wrap", href, text: reason, title: plugin });
      return el("li", {}, nodes, text, ...offered(ofReason(reason)));
    });
    return [el("h4", { text: "Rejected nodes by reason" }), el("ul", { class: "reasons" }, ...items)];
  }

  showNode() {
    const { world, focus } = this.player;
    const node = world?.nodes.get(focus.node ?? "");
    this.nodeBox.hidden = !node;
    if (!node) return;
    const { pods, nodes } = this.box.dataset;
    const fill = this.view.by.fill;
    const there = world.on.get(node.name) ?? [];
    const facts = [
      `${usageOf(world, node.name, fill)} requested`,
      node.ready ? "" : "not ready",
      node.unschedulable ? "cordoned" : "",
      ...node.taints.map((taint) => `taint ${taint}`),
      ...world.ghosts(node.name).map(({ key }) => `${key} is nominated to this node`),
    ].filter(Boolean);
    const list = there.slice(0, PODS).map((pod) => {
      const link = el("a", { href: podAddress(pods, pod.key), text: pod.key, class: "name" });
      const leaving = pod.state === DELETING ? " being deleted" : "";
      const request = el("span", { class: "tiny muted", text: ` ${requestOf(pod, fill)}${leaving} ` });
      return el("li", {}, link, request, whatIf(this.box, "Pod", pod.key));
    });
    const more = there.length - list.length;
    const rest = more > 0 ? el("li", { class: "tiny muted", text: `and ${more} more` }) : "";
    const close = button("✕", { class: "quiet", "data-close-node": "", "aria-label": "Clear node selection" });
    const heading = el("h3", {}, el("a", { href: nodeAddress(nodes, node.name), text: node.name }));
    this.nodeBox.replaceChildren(
      el("div", { class: "row between" }, heading, close),
      el("p", { class: "small wrap", text: facts.join(" · ") }),
      ...this.whyNot(node.name),
      el(
        "div",
        { class: "row tight" },
        ...(this.player.find ? offered(ofNode(node.name), true) : []),
        whatIf(this.box, "Node", node.name),
      ),
      el("ul", { class: "pods-here" }, ...list, rest),
    );
  }

  // Says why the pod of the cycle is not on a node; without one, links to that answer for the pods without a node.
  whyNot(node) {
    const { trace } = this.player;
    const { pods } = this.box.dataset;
    const heading = (text) => el("h4", { text });
    const why = (pod, cycle) =>
      `${podAddress(pods, pod)}why/?${new URLSearchParams({ ...(cycle && { cycle }), node })}`;
    const tried = trace?.pod ?? this.player.pod; // of maps without a player
    if (trace?.node === node) return [el("p", { class: "small", text: `${trace.pod} is placed here.` })];
    if (tried) {
      const verdict = words(this.view.picture.of.get(node), this.view.picture);
      const link = el("a", { href: why(tried, trace?.number), text: `Why not here? (${tried})` });
      return [el("p", { class: "small wrap" }, verdict && `${verdict}. `, link)];
    }
    const pending = [...document.querySelectorAll("#together a[data-last]")].filter(({ dataset }) => +dataset.last);
    if (!pending.length) return [];
    const items = pending.slice(0, EXPLAINED).map(({ dataset: { pod, last } }) => {
      return el("li", {}, el("a", { href: why(pod, last), text: pod, class: "name" }));
    });
    return [heading("Why not here?"), el("ul", {}, ...items)];
  }
}

export const ready = (text, label, attributes) =>
  button(text, { class: "ready", title: label, "aria-label": label, ...attributes });

// Buttons that go to the next match of an expression and that create a breakpoint. `named`: show the name as text.
export function offered(offers, named = false) {
  return offers.map(({ name, where }) => {
    const [next, stop] = [`Go to next: ${name}`, `Add breakpoint: ${name}`];
    const text = named ? `⇥ ${name.slice(name.indexOf(" ") + 1)}` : "⇥";
    return el(
      "span",
      { class: "again" },
      ready(text, next, { "data-next": where }),
      ready("●", stop, { "data-keep": where, "data-name": name }),
    );
  });
}
