// Panel next to the map: the current pod with the steps of its cycle, and the selected node.
import { button, el } from "../dom.js";
import { counted, number } from "../format.js";
import { nodeAddress, podAddress } from "../timeline/labels.js";
import { ofNode, ofPlugin, ofPod, ofReason } from "./breakpoints.js";
import { told as eventTold } from "./moves.js";
import { amount, resourceName } from "./quantities.js";
import { pointName } from "./stepper.js";
import { withFocus } from "./url_state.js";
import { words } from "./verdicts.js";

const PODS = 14; // pods of a node listed initially
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
    const { told, world, focus } = this.player;
    if (!world) return;
    const { pods } = this.box.dataset;
    if (!told) {
      this.cycleBox.replaceChildren(...this.noCycle(focus, world));
      return;
    }
    const page = `${podAddress(pods, told.pod)}${withFocus("", { cycle: told.number, point: focus.point, plugin: focus.plugin })}`;
    const result = el("span", { class: `badge ${TONES[told.result] ?? ""}`, text: told.result });
    const head = el(
      "h3",
      {},
      `Cycle ${number.format(told.number)} `,
      el("span", { class: "muted small", text: `of ${number.format(world.cycles)}` }),
    );
    const who = el("p", { class: "row" }, el("a", { href: page, text: told.pod, class: "name" }), result);
    const again = el("p", { class: "row tight" }, ...offered(ofPod(told.pod), true));
    const where = told.node ? `to ${told.node}` : told.nominated ? `nominated to ${told.nominated}` : told.message;
    const said = el("p", { class: "small muted wrap", text: `attempt ${told.attempt}${where ? `, ${where}` : ""}` });
    this.cycleBox.replaceChildren(head, who, said, again, this.steps(told), ...this.reasons(told));
  }

  noCycle({ seq, t }, world) {
    const { event } = this.player;
    if (event)
      return [el("h3", { text: `Event ${number.format(seq)}` }), el("p", { class: "wrap", text: eventTold(event) })];
    if (t !== undefined)
      return [
        el("h3", { text: "Between cycles" }),
        el("p", { class: "small muted", text: "Step by cycle to take a pod in hand." }),
      ];
    if (this.player.playing) return [el("h3", { text: `Cycle ${number.format(this.player.cycleHere)}` })];
    const how = world.cycles ? "Go back a cycle, or to the start, to take a pod in hand." : "No pod was tried.";
    return [
      el("h3", { text: `After ${counted(world.cycles, "cycle")}` }),
      el("p", { class: "small muted", text: how }),
    ];
  }

  // Lists the steps by extension point; those of the current point one by one.
  steps(told) {
    const { step: shown } = this.player;
    const list = el("ol", { class: "steps" });
    let last = null;
    told.steps.forEach((step, index) => {
      if (step.point !== last?.point) {
        const current = shown >= 0 && told.steps[shown].point === step.point;
        const all = told.steps.filter(({ point }) => point === step.point).length;
        const link = this.link(told.number, step, pointName(step.point), !current ? undefined : "step");
        const item = el(
          "li",
          { class: current ? "current" : "" },
          link,
          el("span", { class: "tiny muted", text: all > 1 ? ` ${all} steps` : ` ${step.said}` }),
        );
        last = { point: step.point, inner: el("ol"), current, all };
        if (current && all > 1) item.append(last.inner);
        list.append(item);
      }
      if (!last.current || last.all < 2) return;
      const text = step.plugin || (step.point === "score" ? "all together" : "the framework");
      const link = this.link(
        told.number,
        step,
        step.node ? `${text}: ${step.node}` : text,
        index === shown ? "step" : undefined,
      );
      const item = el(
        "li",
        { class: index === shown ? "here" : "" },
        link,
        el("span", { class: "tiny muted", text: ` ${step.said}` }),
      );
      if (step.plugin && step.point === "filter" && index === shown)
        item.append(" ", ...offered(ofPlugin(step.plugin)));
      if (step.node && step.point === "postfilter" && index === shown) {
        const trials = withFocus("", { cycle: told.number, point: step.point, node: step.node });
        item.append(" ", el("a", { href: podAddress(this.box.dataset.pods, told.pod) + trials, text: "each trial" }));
      }
      last.inner.append(item);
    });
    return list;
  }

  link(cycle, step, text, current) {
    const focus = { cycle, point: step.point, plugin: step.plugin, node: step.node || this.player.focus.node };
    return el("a", { href: this.address(focus), text, "data-focus": "", "aria-current": current });
  }

  // Lists why the cycle rejected nodes, most nodes first.
  reasons(told) {
    const found = new Map();
    const all = told.rejected
      ? [{ plugin: told.rejected.plugin, decisive: [{ reasons: told.rejected.reasons, rows: [[0, told.nodes - 1]] }] }]
      : told.filters;
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
    const items = rows.map(({ plugin, reason, count }) =>
      el(
        "li",
        {},
        el("span", { class: "num", text: `${number.format(count)} ` }),
        el("span", { class: "wrap", text: reason, title: plugin }),
        ...offered(ofReason(reason)),
      ),
    );
    return [el("h4", { text: "Nodes refused, by reason" }), el("ul", { class: "reasons" }, ...items)];
  }

  showNode() {
    const { world, focus } = this.player;
    const node = world?.nodes.get(focus.node ?? "");
    this.nodeBox.hidden = !node;
    if (!node) return;
    const { pods, nodes } = this.box.dataset;
    const fill = this.view.by.fill;
    const there = world.on.get(node.name) ?? [];
    const [asked, has] = [world.requested(node.name, fill), node.allocatable[fill] ?? 0];
    const said = words(this.view.picture.of.get(node.name), this.view.picture);
    const facts = [
      `${amount(asked, fill)} of ${amount(has, fill)} ${resourceName(fill)} requested`,
      node.unschedulable ? "cordoned" : "",
      ...node.taints.map((taint) => `taint ${taint}`),
      said,
    ].filter(Boolean);
    const list = there.slice(0, PODS).map((pod) =>
      el(
        "li",
        {},
        el("a", { href: podAddress(pods, pod.key), text: pod.key, class: "name" }),
        el("span", {
          class: "tiny muted",
          text: ` ${amount(fill === "pods" ? 1 : (pod.requests[fill] ?? 0), fill)}`,
        }),
      ),
    );
    const more = there.length - list.length;
    const close = button("✕", { class: "quiet", "data-close-node": "", "aria-label": "Look at no node" });
    this.nodeBox.replaceChildren(
      el(
        "div",
        { class: "row between" },
        el("h3", {}, el("a", { href: nodeAddress(nodes, node.name), text: node.name })),
        close,
      ),
      el("p", { class: "small wrap", text: facts.join(" · ") }),
      el("div", { class: "row tight" }, ...offered(ofNode(node.name), true)),
      el(
        "ul",
        { class: "pods-here" },
        ...list,
        ...(more > 0 ? [el("li", { class: "tiny muted", text: `and ${more} more` })] : []),
      ),
    );
  }
}

export const ready = (text, label, attributes) =>
  button(text, { class: "ready", title: label, "aria-label": label, ...attributes });

// Buttons that go to the next match of an expression and that create a breakpoint. `named`: show the name as text.
export function offered(offers, named = false) {
  return offers.map(({ name, where }) => {
    const [next, stop] = [`To the next time: ${name}`, `Stop whenever: ${name}`];
    const text = named ? `⇥ ${name.slice(name.indexOf(" ") + 1)}` : "⇥";
    return el(
      "span",
      { class: "again" },
      ready(text, next, { "data-next": where }),
      ready("●", stop, { "data-keep": where, "data-name": name }),
    );
  });
}
