// The chart of a pod's timeline: a bar of its queues, what woke it above, attempts and displaced pods below.

import { el, svg } from "../dom.js";
import { clock, span, ticks } from "./clock.js";
import { patterns, swatch } from "./drawing.js";
import { exact, LANES, nameIn, nameOf, podAddress, shortened } from "./labels.js";
import { outcomeOf, resultOf, staysOf, waitedOf, wakings } from "./pod_history.js";

const BAR = { y: 74, height: 28 };
const VICTIMS = 6;
const LINE = 18; // line height of names

export const attemptAddress = ({ number, t }) => `?attempt=${number}&t=${exact(t)}`;

const arrow = (d, title, strong) =>
  svg("path", { d, class: strong ? "arrow strong" : "arrow" }, svg("title", {}, title));

export class WayPicture {
  constructor(box, { moves, attempts, happened, preempted, preempted_by }) {
    this.picture = box.querySelector(".way");
    this.own = box.dataset.pod;
    this.pods = box.dataset.pods;
    this.moves = moves;
    this.attempts = attempts;
    this.by = preempted_by ? [preempted_by] : [];
    this.stays = staysOf(moves, happened, Number(box.dataset.until) || 0);
    this.begin = this.stays[0]?.from ?? 0;
    this.end = Math.max(this.stays.at(-1)?.to ?? 0, this.begin);
    this.waited = waitedOf(this.stays, this.begin, this.end);
    this.displaced = Map.groupBy(preempted, ({ t }) => t);
    this.choose("whole");
    this.legend(box.querySelector("[data-legend]"));
  }

  // Whether the pod waited in only a part of its lifetime.
  partial() {
    return this.waited[1] < this.end && this.waited[1] > this.waited[0];
  }

  choose(part) {
    this.range = part === "waited" ? this.waited : [this.begin, this.end];
  }

  x(t) {
    const [from, to] = this.range;
    return 10 + ((t - from) / (to - from || 1)) * (this.width - 20);
  }

  seen(t) {
    return t >= this.range[0] - 1e-9 && t <= this.range[1] + 1e-9;
  }

  draw(now) {
    this.width = Math.max(300, Math.round(this.picture.parentElement.clientWidth));
    const victims = this.victims();
    const bottom = BAR.y + BAR.height + 34 + victims.height;
    this.picture.setAttribute("width", this.width);
    this.picture.setAttribute("height", bottom + 24);
    const line = now !== null && this.seen(now) ? [this.upright(now, BAR.y - 6, bottom, "now")] : [];
    this.picture.replaceChildren(
      patterns(),
      ...this.bar(),
      ...this.causes(),
      ...line,
      ...victims.parts,
      ...this.markers(),
      ...this.axis(bottom),
    );
  }

  upright(t, from, to, kind) {
    return svg("line", { x1: this.x(t), x2: this.x(t), y1: from, y2: to, class: kind });
  }

  bar() {
    const parts = [];
    for (const { lane, from, to } of this.stays) {
      if (to < this.range[0] || from > this.range[1]) continue;
      const left = this.x(Math.max(from, this.range[0]));
      const width = Math.max(1.5, this.x(Math.min(to, this.range[1])) - left);
      const place = { x: left, y: BAR.y, width, height: BAR.height };
      const title = `${nameOf(lane)} for ${span(to - from)}, from ${clock(from)} to ${clock(to)}`;
      parts.push(svg("rect", { ...place, fill: `url(#lane-${lane})`, class: "segment" }, svg("title", {}, title)));
      const fitting = [`${nameOf(lane)} ${span(to - from)}`, nameOf(lane)].find(
        (text) => text.length * 6.6 + 10 < width,
      );
      const middle = { x: left + width / 2, y: BAR.y + 18, "text-anchor": "middle", class: "inside" };
      if (fitting) parts.push(svg("text", middle, fitting));
    }
    return parts;
  }

  // What woke or displaced the pod: a label above with an arrow. If labels would overlap, only the arrow is drawn.
  causes() {
    const levels = [[], [], []];
    const parts = [];
    for (const cause of wakings(this.moves, this.by).filter(({ t }) => this.seen(t))) {
      const x = this.x(cause.t);
      const text = shortened(cause.text, 52);
      const wide = text.length * 6.1 + 10;
      const left = Math.min(Math.max(2, x - wide / 2), this.width - wide - 2);
      const level = levels.findIndex((taken) => taken.every(([a, b]) => left > b || left + wide < a));
      const top = level < 0 ? BAR.y - 12 : 16 + level * 17;
      parts.unshift(arrow(`M${x} ${top + 3}V${BAR.y - 1}`, cause.title, cause.strong));
      if (level < 0) continue;
      levels[level].push([left, left + wide]);
      const place = { x: left + wide / 2, y: top, "text-anchor": "middle" };
      parts.push(this.name(text, place, cause.pod, cause.t, cause.title));
    }
    return parts;
  }

  // Returns a label, as a link if it names another pod.
  name(text, place, pod, t, title) {
    const label = svg("text", { ...place, class: "who" }, text, svg("title", {}, title));
    if (!pod || pod === this.own) return label;
    return svg("a", { href: podAddress(this.pods, pod, t), "aria-label": title }, label);
  }

  // The displaced pods: arrows from the attempt to each name, on the side with more space.
  victims() {
    const parts = [];
    const start = BAR.y + BAR.height + 20;
    let height = 0;
    for (const [t, group] of this.displaced) {
      if (!this.seen(t)) continue;
      const x = this.x(t);
      const side = x < this.width * 0.6 ? 1 : -1;
      const anchor = side > 0 ? "start" : "end";
      const edge = x + 34 * side;
      const shown = group.slice(0, VICTIMS);
      shown.forEach((victim, index) => {
        const y = start + 26 + height + index * LINE;
        const title = `${victim.pod} was evicted from ${victim.node} for this pod`;
        const place = { x: edge + 5 * side, y: y + 4, "text-anchor": anchor };
        parts.push(arrow(`M${x} ${start}C${x} ${y} ${x} ${y} ${edge} ${y}`, title, true));
        parts.push(this.name(`evicts ${shortened(nameIn(victim.pod), 34)}`, place, victim.pod, t, title));
      });
      height += shown.length * LINE;
      if (group.length > VICTIMS) {
        height += LINE;
        const place = { x: edge + 5 * side, y: start + 12 + height, "text-anchor": anchor };
        parts.push(svg("text", place, `and ${group.length - VICTIMS} more`));
      }
    }
    return { parts, height: height ? height + 22 : 0 };
  }

  // A circle per attempt; a dot where circles would touch.
  markers() {
    let before = -Infinity;
    const y = BAR.y + BAR.height + 11;
    return this.attempts
      .filter(({ t }) => this.seen(t))
      .map((attempt) => {
        const x = this.x(attempt.t);
        const title = `Attempt ${attempt.number} at ${clock(attempt.t)}: ${resultOf(attempt)}`;
        const tone = outcomeOf(attempt)[0];
        const wide = x - before > 21;
        if (wide) before = x;
        const text = attempt.number > 99 ? "·" : String(attempt.number);
        return svg(
          "a",
          { href: attemptAddress(attempt), class: `attempt ${tone}`, "aria-label": title },
          svg("circle", wide ? { cx: x, cy: y, r: 9 } : { cx: x, cy: y + 15, r: 3 }),
          wide ? svg("text", { x, y: y + 3.5, "text-anchor": "middle" }, text) : "",
          svg("title", {}, title),
        );
      });
  }

  axis(y) {
    const parts = [svg("line", { x1: 0, x2: this.width, y1: y, y2: y, class: "axis-line" })];
    for (const t of ticks(...this.range, Math.max(2, this.width / 90))) {
      const x = this.x(t);
      const anchor = x < 24 ? "start" : x > this.width - 24 ? "end" : "middle";
      parts.push(this.upright(t, y, y + 4, "tick"), svg("text", { x, y: y + 17, "text-anchor": anchor }, clock(t)));
    }
    return parts;
  }

  legend(place) {
    const lanes = [...new Set(this.stays.map(({ lane }) => lane))];
    place.replaceChildren(
      ...lanes.map((lane) => el("span", { title: LANES[lane] }, swatch(lane), lane)),
      el("span", { text: "① attempt" }),
      el("span", { text: "↓ what woke it" }),
    );
  }
}
