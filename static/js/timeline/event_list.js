// The list of events at a timepoint, in order, with their causes and links to pods and nodes.

import { el } from "../dom.js";
import { clock } from "./clock.js";
import { swatch } from "./drawing.js";
import { exact, nodeAddress, podAddress } from "./labels.js";

export class EventList {
  constructor(box, source) {
    this.pods = box.dataset.pods;
    this.nodes = box.dataset.nodes;
    this.source = source;
    this.list = box.querySelector("[data-events]");
    this.heading = box.querySelector("[data-events-title]");
    this.more = box.querySelector("[data-events-more]");
    this.more.addEventListener("click", () => this.goOn());
  }

  async show(t) {
    const mine = {};
    this.request = mine;
    const found = await this.source.moment(t);
    if (mine !== this.request) return; // another timepoint was selected in the meantime
    this.at = t;
    const when = `Events at ${clock(found.t)}`;
    const last = exact(found.t) < exact(t) && clock(found.t) !== clock(t);
    this.heading.textContent = last ? `${when}, the last before ${clock(t)}` : when;
    const none = el("li", { class: "muted", text: "No events: the run begins." });
    this.list.replaceChildren(...(found.events.length ? found.events.map((line) => this.line(line, found.t)) : [none]));
    this.list.scrollTop = 0;
    this.offer(found);
  }

  offer({ next }) {
    this.next = next;
    this.more.hidden = next === null;
  }

  async goOn() {
    const { request } = this;
    const found = await this.source.moment(this.at, this.next);
    if (request !== this.request) return;
    this.list.append(...found.events.map((line) => this.line(line, found.t)));
    this.offer(found);
  }

  line({ seq, parts: texts, label, lane, cause, depth, type }, t) {
    const line = el("li", { class: `deep-${depth} of-${type.replace(".", "-")}` }, ...this.parts(texts, t));
    if (lane) line.prepend(swatch(lane), " ");
    if (label) line.append(" ", this.label(label, seq, texts.find((part) => part.pod)?.pod, t));
    if (cause) {
      const when = el("a", { href: `?t=${exact(cause.t)}`, "data-go": cause.t, text: clock(cause.t) });
      const earlier = exact(cause.t) === exact(t) ? [] : [", ", when];
      line.append(el("span", { class: "muted" }, " because ", ...this.parts(cause.parts, cause.t), ...earlier));
    }
    return line;
  }

  // Label of the event that moved a pod; a click opens the provenance of its time.
  label(text, seq, pod, t) {
    if (!pod) return el("span", { class: "chip", text });
    const href = `${podAddress(this.pods, pod, t)}&point=queue&move=${seq}`;
    return el("a", { class: "chip", href, text, title: "How this time is computed" });
  }

  parts(texts, t) {
    return texts.map((part) => {
      if (typeof part === "string") return part;
      const [text, href] = part.pod
        ? [part.pod, podAddress(this.pods, part.pod, t)]
        : [part.node, nodeAddress(this.nodes, part.node, t)];
      return el("a", { class: "mono tiny wrap", href, text });
    });
  }
}
