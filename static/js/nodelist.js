// List of all nodes. Only visible rows are in the DOM, so 5,000 nodes cost as much as 20.
import { el } from "./dom.js";
import { counted } from "./format.js";

const HEIGHT = 30;
const GLYPH = { pass: "✓", hot: "✕", also: "!", late: "·", skip: "–" };
const WORD = { feasible: "fits", refused: "", unseen: "not evaluated" };

export class NodeList {
  constructor({ plugins, groups }) {
    this.plugins = plugins;
    this.groups = groups;
    this.all = groups.flatMap((group, index) =>
      group.nodes.map((node, place) => {
        const why = group.each[place] ?? group.why;
        return { node, index, why, key: `${node} ${group.plugin} ${why} ${WORD[group.state]}`.toLowerCase() };
      }),
    );
    this.shown = this.all;
    this.card = document.getElementById("nodes-card");
    this.box = document.getElementById("nodelist");
    this.rows = this.box.querySelector(".rows");
    this.count = document.getElementById("node-count");
    this.input = document.getElementById("node-search");
    this.everything = document.getElementById("node-all");
    this.base = `${location.pathname.split("/pods/")[0]}/nodes/`;
    this.box.style.height = `${Math.min(380, this.all.length * HEIGHT + 2)}px`;
    this.box.addEventListener("scroll", () => this.render(), { passive: true });
    new ResizeObserver(() => this.render()).observe(this.box);
    this.input.addEventListener("input", () => this.search(this.input.value));
    this.everything.addEventListener("click", () => {
      this.input.value = "";
      this.search("");
    });
    this.render();
  }

  search(text, focus = true) {
    if (!focus) this.input.value = text;
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.show(words.length ? this.all.filter((entry) => words.every((word) => entry.key.includes(word))) : this.all);
  }

  showGroup(index) {
    this.input.value = "";
    this.show(this.all.filter((entry) => entry.index === index));
  }

  show(entries) {
    this.card.open = true;
    this.shown = entries;
    this.count.textContent =
      entries.length === this.all.length
        ? counted(entries.length, "node")
        : `${entries.length.toLocaleString("en")} of ${counted(this.all.length, "node")}`;
    this.everything.hidden = entries.length === this.all.length;
    this.box.scrollTop = 0;
    this.render();
  }

  render() {
    if (!this.box.clientHeight) return;
    this.rows.style.height = `${this.shown.length * HEIGHT}px`;
    const first = Math.max(0, Math.floor(this.box.scrollTop / HEIGHT) - 4);
    const last = Math.min(this.shown.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / HEIGHT) + 4);
    const lines = [];
    for (let at = first; at < last; at += 1) lines.push(this.line(this.shown[at], at));
    this.rows.replaceChildren(...lines);
  }

  line({ node, index, why }, at) {
    const group = this.groups[index];
    const href = `${this.base}${encodeURIComponent(node)}/`;
    const text = group.state === "refused" ? `${group.plugin || "PreFilter"}: ${why}` : WORD[group.state];
    const cells = group.cells.map((kind, column) => {
      const plugin = this.plugins[column];
      const about = { class: `cell ${kind}`, title: plugin, "data-from": "filter", "data-plugin": plugin };
      return el("span", { ...about, "data-node": node }, el("i", { text: GLYPH[kind] }));
    });
    const line = el(
      "div",
      { class: "line" },
      el("a", { class: "who", href, text: node }),
      el("span", { class: "why", text, title: text }),
      el("span", { class: "cells", "aria-hidden": "true" }, ...cells),
    );
    line.style.top = `${at * HEIGHT}px`;
    return line;
  }
}
