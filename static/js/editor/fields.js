// Form fields: each shows the value at a path of an object and reports changes of it.
import { el, button as plainButton } from "../dom.js";
import { empty, get, number, words } from "./values.js";

let ids = 0;

export function button(text, attributes, pressed) {
  const made = plainButton(text, attributes);
  made.addEventListener("click", pressed);
  return made;
}

// Returns a text input with its label. `put` is called with the typed text.
function typed(spec, at, value, put, attributes = {}) {
  const id = `f-${++ids}`;
  const own = { id, "data-at": at.join("/"), placeholder: spec.empty, list: spec.from };
  const input = textInput(value, { ...own, ...attributes });
  input.addEventListener("change", () => put(input.value.trim()));
  return labelled(spec, id, input);
}

function labelled(spec, id, input) {
  const label = el("label", { for: id, text: spec.label });
  const box = el("div", { class: `field ${spec.wide ? "wide" : ""}` }, label, input);
  if (spec.hint) {
    input.setAttribute("aria-describedby", `${id}-h`);
    box.append(el("small", { id: `${id}-h`, class: "muted", text: spec.hint }));
  }
  return box;
}

const plain = (value) => (typeof value === "object" && value !== null ? JSON.stringify(value) : value);

const KINDS = {
  text: (spec, at, value, put) => typed(spec, at, plain(value), (text) => put(at, text || undefined)),
  amount: (spec, at, value, put) => typed(spec, at, plain(value), (text) => put(at, text || undefined), { size: "8" }),
  number: (spec, at, value, put) =>
    typed(spec, at, plain(value), (text) => put(at, number(text)), { inputmode: "numeric", size: "6" }),
  words: (spec, at, value, put) => {
    const shown = Array.isArray(value) ? value.join(", ") : plain(value);
    return typed(spec, at, shown, (text) => put(at, text ? words(text) : undefined));
  },
  choice(spec, at, value, put) {
    const id = `f-${++ids}`;
    const select = el("select", { id, "data-at": at.join("/") });
    const options = Array.isArray(spec.options)
      ? spec.options.map((one) => (Array.isArray(one) ? one : [one, one]))
      : Object.entries(spec.options);
    const now = value ?? "";
    if (!options.some(([one]) => one === now)) options.push([now, now === "" ? "not set" : String(plain(now))]);
    for (const [one, text] of options) select.append(el("option", { value: one, text }));
    select.value = now;
    select.addEventListener("change", () => put(at, select.value || undefined));
    return labelled(spec, id, select);
  },
  check(spec, at, value, put) {
    const id = `f-${++ids}`;
    const input = el("input", { id, type: "checkbox", "data-at": at.join("/") });
    input.checked = spec.inverse ? value === false : value === true;
    const on = !spec.inverse;
    input.addEventListener("change", () => put(at, input.checked ? on : undefined));
    return el("div", { class: "field check" }, input, el("label", { for: id, text: spec.label }));
  },
  labels: pairs,
  cards,
  group: (spec, at, _, put, whole) =>
    el("fieldset", { class: "fields" }, el("legend", { text: spec.label }), ...fields(spec.fields, at, whole, put)),
  more: (spec, at, _, put, whole) =>
    el(
      "details",
      { class: "more", "data-keep": at.join("/") },
      el("summary", { text: spec.label }),
      el("div", { class: "fields" }, ...fields(spec.fields, at, whole, put)),
    ),
  own: (spec, at, value, put, whole) => spec.make(at, value, put, whole),
};

// Returns the elements of fields. `base`: path of their object; `put(path, value)`: reports a change.
export function fields(specs, base, whole, put) {
  return specs
    .filter((spec) => !spec.when || spec.when(get(whole, base)))
    .map((spec) => {
      const at = [...base, ...(spec.path ?? [])];
      return KINDS[spec.as](spec, at, get(whole, at), put, whole);
    });
}

// Names and values, one pair per row, with an empty row for a new pair.
function pairs(spec, at, value, put) {
  const box = el("fieldset", { class: "field wide pairs" }, el("legend", { text: spec.label }));
  const there = Object.entries(value && typeof value === "object" && !Array.isArray(value) ? value : {});
  const keep = (rows) => {
    const now = Object.fromEntries(rows.filter(([key]) => key));
    put(at, empty(now) && !spec.always ? undefined : now);
  };
  [...there, ["", ""]].forEach(([key, held], row) => {
    const own = (part) => ({ "data-at": `${at.join("/")}/${row}/${part}`, "aria-label": `${spec.label}: ${part}` });
    const name = textInput(key, { ...own("name"), list: spec.from, placeholder: spec.names ?? "name" });
    const text = textInput(plain(held), { ...own("value"), placeholder: "value" });
    const change = () => {
      const rows = [...there];
      rows[row] = [name.value.trim(), text.value.trim()];
      if (row < there.length || name.value.trim()) keep(rows);
    };
    name.addEventListener("change", change);
    text.addEventListener("change", change);
    const line = el("div", { class: "pair" }, name, el("span", { text: "=", "aria-hidden": "true" }), text);
    if (row < there.length) {
      const gone = () => keep(there.filter((_, index) => index !== row));
      line.append(button("×", { class: "quiet", "aria-label": `Remove ${key}` }, gone));
    }
    box.append(line);
  });
  return box;
}

function textInput(value, attributes) {
  const made = el("input", { type: "text", autocomplete: "off", spellcheck: "false", ...attributes });
  made.value = value ?? "";
  return made;
}

// A list of objects with their own fields. `fresh()`: initial value of a new element. `make()`: elements of one object,
// instead of `fields`.
function cards(spec, at, value, put, whole) {
  const list = Array.isArray(value) ? value : [];
  const boxes = list.map((item, index) => {
    const make = spec.make ?? ((place) => fields(spec.fields, place, whole, put));
    const one = el("div", { class: "sub" }, ...make([...at, index], item, put, whole));
    const gone = () => put(at, list.length > 1 ? list.filter((_, other) => other !== index) : undefined);
    const what = spec.title?.(item) ?? `${spec.one} ${index + 1}`;
    one.append(button("Remove", { class: "quiet remove", "aria-label": `Remove ${what}` }, gone));
    return one;
  });
  const more = () => put(at, [...list, spec.fresh(list)]);
  const add = button(`Add ${spec.one}`, { "data-at": `${at.join("/")}/+` }, more);
  return el("fieldset", { class: "field wide cards" }, el("legend", { text: spec.label }), ...boxes, add);
}
