// Search for cycles by an expression, and breakpoints: stored expressions at which playback stops.
import { el } from "../dom.js";
import { counted, number } from "../format.js";
import { clock } from "../timeline/clock.js";
import { ALWAYS, nearest, unused } from "./breakpoints.js";
import { offered, ready } from "./inspector.js";
import { withFocus } from "./url_state.js";

const SHOWN = 50;

export class Stops {
  constructor(box, source, player) {
    Object.assign(this, { box, source, player });
    this.form = box.querySelector("form");
    this.input = this.form.querySelector("input");
    this.answer = box.querySelector("[data-found]");
    this.list = box.querySelector("[data-kept]");
    this.kept = [];
    player.nextStop = (cycle, by) => this.next(cycle, by);
    box
      .querySelector("[data-always]")
      .append(
        ...ALWAYS.map((one) =>
          el("li", {}, el("span", { text: one.name.replace("the next ", "") }), ...offered([one])),
        ),
      );
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      const where = this.input.value.trim();
      if (!where) return;
      if (event.submitter?.value === "keep") this.keep({ name: "", where });
      else this.find(where);
    });
    this.list.addEventListener("click", (event) => {
      const drop = event.target.closest("[data-drop]");
      if (drop) this.drop(Number(drop.dataset.drop));
    });
  }

  async load() {
    this.kept = await this.source.breakpoints();
    this.show();
  }

  show() {
    this.list.replaceChildren(
      ...this.kept.map(({ id, name, where }) =>
        el(
          "li",
          {},
          el("span", { class: "stop", "aria-hidden": "true", text: "●" }),
          el(
            "span",
            { class: "wrap" },
            name,
            name === where ? "" : el("code", { class: "tiny muted", text: ` ${where}` }),
          ),
          ready("⇥", `Go to next: ${name}`, { "data-next": where, title: "Go to next" }),
          ready("✕", `Remove ${name}`, { "data-drop": id, title: "Remove" }),
        ),
      ),
    );
    this.box.querySelector("[data-none]").hidden = this.kept.length > 0;
  }

  async keep({ name, where }) {
    try {
      const names = this.kept.map((one) => one.name);
      const unlike = unused(name || where, names);
      this.kept.push(await this.source.keep({ name: unlike, where }));
      this.show();
      this.say(`Breakpoint added: ${unlike}`);
    } catch (error) {
      this.wrong(where, error);
    }
  }

  async drop(id) {
    try {
      await this.source.drop(id);
      this.kept = this.kept.filter((one) => one.id !== id);
      this.show();
    } catch (error) {
      this.say(error.message);
    }
  }

  // Returns where playback from a cycle stops next.
  async next(cycle, by) {
    const from = cycle + by;
    if (from < 1 || from > this.player.head) return null;
    const hits = [];
    for (const { name, where } of this.kept) {
      const { matches } = await this.source.find({ where, from, direction: by > 0 ? "next" : "previous" });
      hits.push({ name, cycle: matches[0]?.cycle ?? null, t: matches[0]?.t });
    }
    return nearest(hits, by);
  }

  async find(where) {
    try {
      this.say("Looking …");
      const { matches, total, next_from: more, note } = await this.source.find({ where, limit: SHOWN });
      const items = matches.map(({ cycle, pod, attempt, t }) => {
        const when = this.player.inTime ? ` · ${clock(t)}` : "";
        const href = location.pathname + withFocus(location.search, { cycle, node: this.player.focus.node });
        const link = el("a", { href, "data-focus": "", text: number.format(cycle) });
        return el("li", {}, link, ` ${pod}${attempt > 1 ? `, attempt ${attempt}` : ""}${when}`);
      });
      const found = `${counted(total, "cycle")} match${total === 1 ? "es" : ""}${more ? `, the first ${SHOWN}:` : ":"}`;
      this.say(total ? found : note || "No cycle matches.");
      this.answer.append(el("ol", { class: "found", tabindex: 0, "aria-label": "Matching cycles" }, ...items));
    } catch (error) {
      this.wrong(where, error);
    }
  }

  // Shows the error of an invalid expression and marks its position.
  wrong(where, error) {
    const message = el("p", { class: "small bad-text wrap", role: "alert", text: error.message });
    if (!error.line) {
      this.answer.replaceChildren(message);
      return;
    }
    const line = where.split("\n")[error.line - 1] ?? "";
    const place = el("pre", { class: "tiny" }, `${line}\n${" ".repeat(Math.max(0, error.column - 1))}^`);
    this.answer.replaceChildren(message, place);
    this.input.focus();
    this.input.setSelectionRange(Math.max(0, error.column - 1), where.length);
  }

  say(text) {
    this.answer.replaceChildren(el("p", { class: "small", role: "status", text }));
  }
}
