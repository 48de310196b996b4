// Links and forms inside [data-swap="#part"] fetch their page and replace only that part. Scroll position and focus
// are preserved. Without JavaScript they are ordinary links and forms.
import { morph } from "./morph.js";
import { fetchPage } from "./requests.js";

let latest = 0;
// address of the shown page; a change of the fragment (#...) replaces nothing
let shown = location.pathname + location.search;

async function swap(url, selector, { push = true } = {}) {
  const mine = ++latest;
  const part = document.querySelector(selector);
  part?.setAttribute("aria-busy", "true");
  try {
    const fresh = (await fetchPage(url)).querySelector(selector);
    if (mine !== latest) return;
    if (!fresh || !part) {
      location.assign(url);
      return;
    }
    const focused = part.contains(document.activeElement) ? document.activeElement : null;
    const caret = focused?.selectionStart;
    part.replaceWith(fresh);
    if (focused) {
      const again = versionOf(focused, fresh);
      again.focus({ preventScroll: true });
      if (caret != null && again.setSelectionRange) again.setSelectionRange(caret, caret);
    }
    if (push) history.pushState({ swap: selector }, "", url);
    else history.replaceState(history.state, "", url); // an update fetches what the user searches for
    shown = location.pathname + location.search;
    document.dispatchEvent(new CustomEvent("swapped", { detail: fresh }));
  } catch {
    part?.removeAttribute("aria-busy");
  }
}

// Returns the version of an element in a newer part: with the same id or name, or the link with the same text. Without
// one, returns the part.
function versionOf(element, part) {
  const key = CSS.escape(element.id || element.name || "");
  const text = (one) => one.textContent.replace(/[▲▼]/g, "").trim();
  const found = key
    ? part.querySelector(`#${key}, [name="${key}"]`)
    : [...part.querySelectorAll(element.localName)].find((one) => text(one) === text(element));
  if (found) return found;
  part.tabIndex = -1;
  return part;
}

// CSRF tokens differ in every response and are ignored.
const plain = (element) => element.innerHTML.replace(/(csrfmiddlewaretoken" value=")[^"]*/g, "$1");

// Fetches the page again and updates its [data-part] elements, except those that `keeps` names then. Focus, scroll position and open
// details are preserved. Returns the new page.
export async function refreshParts(keeps = () => false) {
  const fresh = await fetchPage(location.href);
  for (const old of document.querySelectorAll("[data-part]")) {
    const now = fresh.querySelector(`[data-part="${old.dataset.part}"]`);
    if (now && !keeps(old.dataset.part) && old !== document.activeElement && plain(now) !== plain(old)) morph(old, now);
  }
  return fresh;
}

function target(form) {
  const query = new URLSearchParams(new FormData(form));
  for (const [key, value] of [...query]) if (!value) query.delete(key);
  return `${form.getAttribute("action") || location.pathname}?${query}`;
}

export function swapParts() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    const area = link?.closest("[data-swap]");
    if (!area || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    if (new URL(link.href).pathname !== location.pathname || link.hasAttribute("data-plain")) return;
    event.preventDefault();
    swap(link.href, area.dataset.swap);
  });
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form[method=get]");
    const area = form?.closest("[data-swap]");
    if (!area) return;
    event.preventDefault();
    swap(target(form), area.dataset.swap);
  });
  let timer = 0;
  document.addEventListener("input", (event) => {
    const form = event.target.form?.closest("form[method=get]"); // a field may be outside of its form
    const area = form?.closest("[data-swap]");
    if (!area) return;
    clearTimeout(timer);
    timer = setTimeout(() => swap(target(form), area.dataset.swap, { push: false }), 220);
  });
  addEventListener("popstate", (event) => {
    if (location.pathname + location.search === shown) return;
    if (event.state?.swap) swap(location.href, event.state.swap, { push: false });
    else if (!event.state?.own && document.querySelector("[data-swap]")) location.reload();
  });
}
