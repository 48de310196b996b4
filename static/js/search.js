// The search dialog of all pages: a combobox with the results of /search/. "/" and Ctrl+K open it.
import { el } from "./dom.js";
import { counted } from "./format.js";
import { fetchPage } from "./requests.js";

const DELAY = 120; // milliseconds after the last key
const TYPED = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]";
const dialog = /** @type {HTMLDialogElement | null} */ (document.getElementById("search"));
const input = dialog?.querySelector("input");
const list = dialog?.querySelector("[role=listbox]");
const status = dialog?.querySelector("[role=status]");
let latest = 0;
let due = 0;

const options = () => [...list.querySelectorAll("[role=option]")];
const active = () => list.querySelector("[aria-selected=true]");

export function openSearch() {
  if (!dialog || document.querySelector("dialog[open]")) return;
  dialog.showModal();
  input.select();
  find();
}

async function find() {
  const mine = ++latest;
  const query = new URLSearchParams({ q: input.value.trim(), from: location.pathname });
  const page = await fetchPage(`${dialog.dataset.src}?${query}`).catch(() => null);
  if (mine === latest) show(page?.getElementById("search-results"));
}

/** Makes options of the links of the page. @param {HTMLElement | null | undefined} found */
function show(found) {
  let number = 0;
  const option = (item) => {
    const link = item.querySelector("a");
    const note = item.querySelector("span")?.textContent ?? "";
    const texts = [el("span", { text: link.textContent.trim() }), el("span", { class: "small muted", text: note })];
    const attributes = { role: "option", id: `found-${number++}`, "aria-selected": "false", "data-href": link.href };
    return el("li", attributes, ...texts);
  };
  const groups = [...(found?.querySelectorAll("section") ?? [])].map((section, index) => {
    const heading = el("p", {
      class: "tiny",
      id: `found-group-${index}`,
      text: section.querySelector("h2").textContent,
    });
    const items = [...section.querySelectorAll("li")].map(option);
    return el("ul", { role: "group", "aria-labelledby": heading.id }, heading, ...items);
  });
  list.replaceChildren(...groups);
  input.setAttribute("aria-expanded", String(number > 0));
  select(options()[0]);
  status.textContent = found ? sentence(number) : "The search is not available. Try again.";
}

const sentence = (number) => (number ? counted(number, "result") : `Nothing matches “${input.value.trim()}”.`);

function select(option) {
  active()?.setAttribute("aria-selected", "false");
  if (!option) {
    input.removeAttribute("aria-activedescendant");
    return;
  }
  option.setAttribute("aria-selected", "true");
  option.scrollIntoView({ block: "nearest" });
  input.setAttribute("aria-activedescendant", option.id);
}

function move(by) {
  const all = options();
  if (all.length) select(all[(all.indexOf(active()) + by + all.length) % all.length]);
}

function go(option) {
  if (!option) return;
  dialog.close();
  location.assign(option.dataset.href);
}

if (dialog) {
  input.addEventListener("input", () => {
    clearTimeout(due);
    due = setTimeout(find, DELAY);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") move(1);
    else if (event.key === "ArrowUp") move(-1);
    else return;
    event.preventDefault();
  });
  dialog.querySelector("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    clearTimeout(due);
    await find(); // of the whole text, also if it was typed faster than the delay
    go(active());
  });
  list.addEventListener("click", (event) => go(event.target.closest("[role=option]")));
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-search]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    openSearch();
  });
  document.addEventListener("keydown", (event) => {
    const command = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key === "k";
    const slash =
      event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !event.target.closest(TYPED);
    if (!(command || slash) || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    openSearch();
  });
}
