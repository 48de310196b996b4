// Table of the pods that are on different nodes in two runs at a timepoint.
import { withParams } from "../address.js";
import { el } from "../dom.js";
import { counted } from "../format.js";
import { withFocus } from "./url_state.js";

const PAGE = 50;

export class Apart {
  constructor(box) {
    this.box = box;
    this.shown = PAGE;
    this.count = box.querySelector("[data-count]");
    this.body = box.querySelector("tbody");
    this.table = box.querySelector(".scroll");
    this.more = box.querySelector("[data-more]");
    this.more.addEventListener("click", () => {
      this.shown += PAGE;
      this.list();
    });
  }

  show(pods, player) {
    this.count.textContent = pods.length
      ? `${counted(pods.length, "pod")} on different nodes at this timepoint`
      : "All pods are on the same nodes at this timepoint";
    if (player.playing) return;
    Object.assign(this, { pods, player });
    this.list();
  }

  list() {
    const { pods, shown } = this;
    this.table.hidden = !pods.length;
    this.more.hidden = pods.length <= shown;
    this.body.replaceChildren(
      ...pods.slice(0, shown).map(({ pod, a, b }) => {
        const address = withParams({ pod });
        address.hash = "pod";
        const link = el("a", { href: address.href, text: pod });
        return el("tr", {}, el("th", { scope: "row", class: "name" }, link), this.place(a), this.place(b));
      }),
    );
  }

  place(node) {
    const href = location.pathname + withFocus(location.search, { ...this.player.focus, node: node ?? "" });
    const none = el("span", { class: "muted", text: node === null ? "missing" : "no node" });
    return el("td", { class: "name tiny" }, node ? el("a", { href, text: node, "data-focus": "" }) : none);
  }
}
