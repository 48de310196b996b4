// Shows what would have to change for a pod to run on a node, or why that node would win. The user drags the pod onto a
// node, or chooses the node in the dialog.
import { button, el } from "../dom.js";
import { fetchPage } from "../requests.js";
import { podAddress } from "../timeline/labels.js";
import { nearest } from "./ladder.js";

const MOVED = 4; // pixels that a pointer moves before dragging starts
const OFFERED = 500; // nodes in the list of the dialog

export class PodTrial {
  constructor(box, view) {
    Object.assign(this, { box, view, pod: "", cycle: 0, ladder: [] });
    this.place = el("span", { class: "row tight", hidden: "" });
    box.querySelector(".map-bar [data-hand]").after(this.place);
  }

  // Offers a pod, none for "". `cycle`: of a run. `others`: pods without a node, {pod}, of which `choose` takes another.
  offer(pod = "", cycle = 0, others = [], choose = () => {}) {
    Object.assign(this, { pod, cycle, ladder: pod === this.pod ? this.ladder : [] });
    this.place.hidden = !pod;
    const now = `${pod} ${cycle} ${others.map((other) => other.pod)}`;
    if (this.now === now) return;
    this.now = now;
    this.place.replaceChildren();
    if (this.place.hidden) return;
    if (others.length > 1) {
      const options = others.map((other) =>
        el("option", { value: other.pod, text: other.pod, selected: other.pod === pod ? "" : undefined }),
      );
      const select = el("select", {}, ...options);
      select.addEventListener("change", () => choose(select.value));
      this.place.append(el("label", { class: "inline" }, el("span", { text: "Nodes for" }), select));
    }
    const name = pod.slice(pod.indexOf("/") + 1);
    this.handle = button(`⠿ Try ${name} on a node …`, {
      class: "quiet small drag-pod",
      title: "Drag it onto a node, or click to choose a node",
    });
    this.place.append(this.handle);
    this.listen(name);
  }

  near(ladder) {
    this.ladder = ladder;
  }

  listen(name) {
    const { handle, view } = this;
    let [from, ghost] = [null, null];
    const end = () => {
      ghost?.remove();
      view.aimEnds();
      [from, ghost] = [null, null];
    };
    handle.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      from = event;
      handle.setPointerCapture(event.pointerId);
    });
    handle.addEventListener("pointermove", (event) => {
      if (!from) return;
      if (!ghost && Math.hypot(event.clientX - from.clientX, event.clientY - from.clientY) < MOVED) return;
      ghost ??= document.body.appendChild(el("span", { class: "dragged-pod", text: name, "aria-hidden": "true" }));
      ghost.style.transform = `translate(${event.clientX + 10}px, ${event.clientY - 30}px)`;
      view.aimAt(event);
    });
    handle.addEventListener("pointerup", (event) => {
      const found = ghost && view.aimAt(event);
      this.dragged = Boolean(ghost); // the click that follows is none
      end();
      if (found?.index >= 0) this.ask(found.tile.nodes[found.index]);
      else if (found) view.openGroup(found.tile);
    });
    handle.addEventListener("pointercancel", end);
    handle.addEventListener("click", () => {
      if (!this.dragged) this.ask("");
      this.dragged = false;
    });
  }

  // Opens the dialog, with the answer about a node if one is given.
  ask(node) {
    const { pod, box, view } = this;
    const offered = this.ladder.length ? nearest(this.ladder) : [...(view.world?.nodes.keys() ?? [])];
    const rest = this.ladder.flatMap(({ nodes }) => nodes);
    const names = [...new Set([...offered, ...rest])].slice(0, OFFERED);
    const list = el("datalist", { id: "trial-nodes" }, ...names.map((value) => el("option", { value })));
    const input = el("input", { list: "trial-nodes", value: node, required: "", maxlength: 253, autocomplete: "off" });
    const form = el(
      "form",
      { class: "row" },
      el("label", { class: "inline grow" }, el("span", { text: "Node" }), input),
      el("button", { text: "Explain" }),
      list,
    );
    const answer = el("div", { class: "stack-s remedy", "aria-live": "polite" });
    const close = el("form", { method: "dialog" }, el("button", { text: "Close" }));
    const title = el("h2", { class: "wrap", text: `${pod} on a node` });
    const dialog = el("dialog", { class: "wide", "aria-label": `${pod} on a node` }, title, form, answer, close);
    dialog.addEventListener("close", () => dialog.remove());
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.explain(input.value.trim(), answer);
    });
    box.append(dialog);
    dialog.showModal();
    if (node) this.explain(node, answer);
    else input.focus();
  }

  async explain(node, answer) {
    answer.replaceChildren(el("p", { role: "status", text: "Loading …" }));
    try {
      const query = new URLSearchParams({ ...(this.cycle && { cycle: this.cycle }), node });
      const page = await fetchPage(`${podAddress(this.box.dataset.pods, this.pod)}why/?${query}`);
      const part = page.getElementById("why");
      part.querySelector(".why-not")?.remove(); // the dialog has its own form
      answer.replaceChildren(...part.childNodes);
    } catch {
      answer.replaceChildren(el("p", { text: "This could not be loaded. Try again." }));
    }
  }
}
