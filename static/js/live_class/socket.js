// What the pages of rooms share: the websocket of a room, and the parts that the server renders.
import { connect } from "../socket.js";

// `known()`: the version that the page shows; `heard(message)`: for each.
export function link(path, { known, heard }) {
  connect(path, { query: () => ({ version: known() }), onMessage: (message) => void heard(message) });
}

const made = new WeakMap(); // a place of a part -> what it was given last, as the browser writes it

// What is in the places of the parts already, so that the same is not put there again: who reads it keeps their place.
export function remember(room) {
  for (const place of room.querySelectorAll("[data-part]")) {
    const copy = place.cloneNode(true);
    for (const inner of copy.querySelectorAll("[data-part]")) inner.replaceChildren(); // a part of its own
    made.set(place, copy.innerHTML.trim());
  }
}

// Shows the parts that the server made. A part may have places for those after it.
export function show(room, parts) {
  for (const [part, html] of Object.entries(parts)) {
    const place = room.querySelector(`[data-part="${part}"]`);
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

// What a person has opened, and the button that has the focus, if they are there again.
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

// What the server made, and escaped.
export function fill(place, html) {
  place.replaceChildren(...parsed(html).childNodes);
}

function parsed(html) {
  return new DOMParser().parseFromString(html, "text/html").body;
}

// Says where the class is, for who does not see it.
export function say(room, text) {
  const place = room.querySelector("[data-live]");
  if (place && place.textContent.trim() !== text) place.textContent = text;
}
