// A card for each entry of the outline: a summary line, and a form that is created when the card is opened.
import { el } from "../dom.js";
import { counted } from "../format.js";
import { button } from "./fields.js";

export class Card {
  // `says`: sentences about constraints, by path; `make()`: the elements of the form; `acts`: [{name, label, do}]
  // buttons below.
  constructor(what) {
    this.name = el("strong");
    this.summary = el("span", { class: "muted" });
    this.errors = el("span", { class: "badge bad" });
    this.body = el("div", { class: "card-body" });
    const heading = el("summary", {}, this.name, " ", this.summary, " ", this.errors);
    this.details = el("details", { class: "card thing" }, heading, this.body);
    this.details.addEventListener("toggle", () => this.details.open && this.fill());
    this.signature = "";
    this.filled = "";
    this.become(what);
  }

  become(what) {
    Object.assign(this, what);
    this.name.textContent = what.title;
    this.summary.textContent = what.line;
    this.errors.textContent = counted(what.bad ?? 0, "error");
    this.errors.hidden = !what.bad;
    if (this.details.open) this.fill();
  }

  // Rebuilds the form if its data has changed. Typed text, focus and open sections are preserved.
  fill() {
    if (this.filled !== this.signature) {
      this.filled = this.signature;
      const kept = this.hold();
      const acts = (this.acts ?? []).map(({ name, label, do: act }) => button(name, { "aria-label": label }, act));
      this.body.replaceChildren(
        el("div", { class: "fields" }, ...this.make()),
        el("div", { class: "row acts" }, ...acts),
      );
      this.restore(kept);
    }
    const sentences = new Map((this.says ?? []).map(([path, text]) => [path.join("/"), text]));
    for (const place of this.body.querySelectorAll("[data-says]")) {
      const at = place.dataset.says;
      const texts = [...sentences].filter(([path]) => path === at || path.startsWith(`${at}/`)).map(([, text]) => text);
      place.textContent = texts.join(" ");
      place.hidden = !texts.length;
    }
  }

  hold() {
    const { body } = this;
    const open = [...body.querySelectorAll("details[data-keep][open]")].map((one) => one.dataset.keep);
    const chosen = [...body.querySelectorAll("select[data-hold]")].map((one) => [one.dataset.at, one.value]);
    const changed = [...body.querySelectorAll("form [name]")]
      .filter((one) => one.value !== initial(one))
      .map((one) => [one.name, one.value]);
    const now = document.activeElement;
    if (!body.contains(now)) return { open, chosen, changed };
    const at = selectorOf(now);
    const typed = now.matches("input[type=text]") && now.value !== now.defaultValue ? now.value : null;
    return { open, chosen, changed, at, focused: true, typed, from: now.selectionStart, to: now.selectionEnd };
  }

  restore({ open, chosen, changed, at, focused, typed, from, to }) {
    for (const one of this.body.querySelectorAll("details[data-keep]")) one.open = open.includes(one.dataset.keep);
    for (const input of this.body.querySelectorAll("input[type=text]")) input.defaultValue = input.value;
    for (const [place, value] of chosen) {
      const again = this.body.querySelector(`select[data-at="${CSS.escape(place)}"]`);
      if ([...(again?.options ?? [])].some((one) => one.value === value)) again.value = value;
    }
    for (const [name, value] of changed) {
      const again = this.body.querySelector(`form [name="${CSS.escape(name)}"]`);
      if (again) again.value = value;
    }
    if (!focused) return;
    const again = at && this.body.querySelector(at);
    if (!again) {
      this.details.querySelector("summary").focus({ preventScroll: true });
      return;
    }
    if (typed !== null) carry(again, typed);
    again.focus({ preventScroll: true });
    if (again.matches("input[type=text]")) again.setSelectionRange(from, to);
  }

  open() {
    this.details.open = true;
    this.fill();
    const first = this.body.querySelector("input, select, button");
    first?.focus({ preventScroll: true });
    this.details.scrollIntoView({ block: "nearest" });
  }
}

// Returns a selector of the control that replaces this one when a form is built anew.
function selectorOf(control) {
  const { at } = control.dataset;
  if (at) return `[data-at="${CSS.escape(at)}"]`;
  return control.name ? `form [name="${CSS.escape(control.name)}"]` : "";
}

// Returns the value of a control of a form that still has its first value.
function initial(control) {
  if (!control.options) return control.defaultValue;
  return [...control.options].find((one) => one.defaultSelected)?.value ?? control.options[0]?.value;
}

// Moves typed text to the field that replaces the old one, and reports it as a change when the field loses the focus.
function carry(field, typed) {
  field.value = typed;
  let reported = false;
  field.addEventListener("change", () => {
    reported = true;
  });
  field.addEventListener(
    "blur",
    () => {
      if (!reported && field.value !== field.defaultValue) field.dispatchEvent(new Event("change"));
    },
    { once: true },
  );
}
