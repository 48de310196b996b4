// The map as a table: every node with its resource use and its verdict in the current step.
import { button, el } from "../dom.js";
import { counted } from "../format.js";
import { nodeAddress } from "../timeline/labels.js";
import { amount, resourceName } from "./quantities.js";
import { words } from "./verdicts.js";
import { whatIf } from "./what_if.js";

const PAGE = 100;
const levelIn = (of, name) => of.get(name)?.level ?? Infinity;

export class NodeTable {
  constructor(box, view, player) {
    Object.assign(this, { box, view, player });
    this.shown = PAGE;
    const label = "Search nodes, groups, verdicts";
    this.search = el("input", { type: "search", placeholder: label, "aria-label": label });
    this.count = el("span", { class: "small muted", role: "status" });
    this.head = el("thead");
    this.body = el("tbody");
    this.more = button("Show more");
    const caption = el("caption", { class: "visually-hidden", text: "The nodes at this timepoint" });
    const table = el("table", {}, caption, this.head, this.body);
    box.append(
      el("div", { class: "row" }, this.search, this.count),
      el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Nodes as a table" }, table),
      this.more,
    );
    this.search.addEventListener("input", () => this.show());
    this.more.addEventListener("click", () => {
      this.shown += PAGE;
      this.show();
    });
  }

  show() {
    if (this.box.hidden || !this.view.layout) return;
    const { view, player } = this;
    const { world } = player;
    const fill = view.by.fill;
    const sought = this.search.value.trim().toLowerCase();
    const rows = view.layout.tiles.flatMap((tile) =>
      tile.nodes
        .filter((name) => world.nodes.has(name))
        .map((name) => ({ group: tile.name, name, verdict: words(view.picture.of.get(name), view.picture) })),
    );
    const { levels, of } = view.picture;
    if (levels) rows.sort((a, b) => levelIn(of, a.name) - levelIn(of, b.name)); // the nearest nodes first
    const found = rows.filter(({ group, name, verdict }) =>
      `${group} ${name} ${verdict}`.toLowerCase().includes(sought),
    );
    const names = [
      "Group",
      "Node",
      `${resourceName(fill)} requested`,
      "of",
      "Pods",
      levels ? "Changes" : "In this step",
    ];
    const heads = names.map((text, at) => el("th", { scope: "col", text, class: at > 1 && at < 5 ? "num" : "" }));
    this.head.replaceChildren(el("tr", {}, ...heads));
    this.body.replaceChildren(
      ...found.slice(0, this.shown).map(({ group, name, verdict }) => {
        const node = world.nodes.get(name);
        const there = world.on.get(name) ?? [];
        const differing = view.differing.nodes.get(name);
        const base = this.box.closest("[data-nodes]")?.dataset.nodes; // not in lessons
        const link = base ? el("a", { href: nodeAddress(base, name), text: name }) : name;
        const marks = [node.ready ? "" : "not ready", node.unschedulable ? "cordoned" : "", ...node.taints]
          .filter(Boolean)
          .join(", ");
        return el(
          "tr",
          { "aria-current": name === view.chosen ? "true" : undefined },
          el("td", { text: group }),
          el(
            "th",
            { scope: "row", class: "name" },
            link,
            marks && el("span", { class: "tiny muted", text: ` ${marks}` }),
            " ",
            whatIf(this.box, "Node", name),
          ),
          el("td", { class: "num", text: amount(world.requested(name, fill), fill) }),
          el("td", { class: "num", text: amount(node.allocatable[fill] ?? 0, fill) }),
          el("td", { class: "num", text: differing ? `${there.length} (≠ ${differing})` : String(there.length) }),
          el("td", { class: "wrap small", text: verdict }),
        );
      }),
    );
    this.count.textContent = counted(found.length, "node");
    this.more.hidden = found.length <= this.shown;
  }
}
