// Loads slow sections after the page: <section id="x" data-load="address"> gets the content of the element with its
// id at that address. Hidden sections load when they become visible.
import { withParams } from "./address.js";
import { fetchPage } from "./requests.js";

const begun = new WeakMap(); // element -> promise that resolves when it is loaded

export function loadParts(within = document) {
  const shown = [...within.querySelectorAll("[data-load]")].filter((box) => !box.closest("[hidden]"));
  return Promise.all(shown.map((box) => begun.get(box) ?? reload(box)));
}

// Loads a section again, from its address with other query parameters.
export function reload(box, changes) {
  if (changes) box.dataset.load = withParams(changes, box.dataset.load).href;
  const done = load(box);
  begun.set(box, done);
  return done;
}

async function load(box) {
  try {
    const page = await fetchPage(box.dataset.load);
    const fresh = page.getElementById(box.id);
    if (fresh) box.replaceChildren(...fresh.childNodes);
    else box.textContent = page.querySelector("main .wrap").textContent; // the server's reason for not answering
  } catch {
    box.textContent = "This section could not be loaded. Reload the page.";
  }
}
