// Shared by live-class pages: the websocket, and the parts that the server renders.
import { counted } from "../format.js";
import { connect } from "../socket.js";

export const page = document.getElementById("live-class");

// `known()`: version that the page shows; `receive(message)`: called for each message.
export function link(path, { known, receive }) {
  connect(path, { query: () => ({ version: known() }), onMessage: (message) => void receive(message) });
}

const made = new WeakMap(); // placeholder of a part -> its last HTML, as serialised by the browser

// Records the current content of the parts, so that equal content is not replaced and screen readers keep their
// position.
export function remember() {
  for (const place of page.querySelectorAll("[data-section]")) {
    const copy = place.cloneNode(true);
    // an inner placeholder is a part of its own
    for (const inner of copy.querySelectorAll("[data-section]")) inner.replaceChildren();
    made.set(place, copy.innerHTML.trim());
  }
}

// Shows the parts that the server rendered. A part may contain placeholders of later parts.
export function show(parts) {
  for (const [part, html] of Object.entries(parts)) {
    const place = page.querySelector(`[data-section="${part}"]`);
    if (!place) continue;
    const fresh = parsed(html);
    const written = fresh.innerHTML.trim();
    if (made.get(place) === written) continue;
    const back = kept(place);
    place.replaceChildren(...fresh.childNodes);
    made.set(place, written);
    back();
  }
}

// Returns a function that restores opened details and the focused button, if they still exist.
function kept(place) {
  const opened = new Map([...place.querySelectorAll("details[data-kept]")].map((one) => [one.dataset.kept, one.open]));
  const at = place.contains(document.activeElement) ? document.activeElement : null;
  return () => {
    for (const one of place.querySelectorAll("details[data-kept]")) {
      if (opened.has(one.dataset.kept)) one.open = opened.get(one.dataset.kept);
    }
    if (!at) return;
    const same = at.name && place.querySelector(`button[name="${at.name}"][value="${CSS.escape(at.value)}"]`);
    (same || place.querySelector("summary, a[href]"))?.focus();
  };
}

// Inserts HTML that the server rendered and escaped.
export function fill(place, html) {
  place.replaceChildren(...parsed(html).childNodes);
}

function parsed(html) {
  return new DOMParser().parseFromString(html, "text/html").body;
}

// Announces the position of the class to screen readers.
export function say(text) {
  const place = page.querySelector("[data-position]");
  if (place) replaceText(place, text);
}

// Equal text is not announced again.
export function replaceText(place, text) {
  if (place.textContent.trim() !== text) place.textContent = text;
}

// Shows how many students have answered.
export function summarize({ students, answered, asks }) {
  const all = counted(students, "student");
  replaceText(page.querySelector("[data-summary]"), asks ? `${answered} of ${all} answered` : `${all} in the class`);
}
