// The websocket of a room: comes back when it is cut off, and says what the page knows already.
import { afterClose } from "../backoff.js";

const SETTLED = 1500; // milliseconds after which a socket that is still open counts as a success

function tell(text) {
  const place = document.querySelector("[data-link]");
  if (place && place.textContent !== text) place.textContent = text;
}

// `known()`: the version that the page shows; `heard(message)`: for each; `lost()`: it was cut off.
export function link(path, { known, heard, lost }) {
  let tries = 0; // in a row
  function connect() {
    const address = new URL(path, location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    address.searchParams.set("version", known());
    const socket = new WebSocket(address);
    let said = "";
    socket.onmessage = ({ data }) => {
      const message = JSON.parse(data);
      if (message.error) said = message.error;
      else heard(message);
    };
    socket.onopen = () => setTimeout(settled, SETTLED);
    function settled() {
      if (socket.readyState !== WebSocket.OPEN) return; // let in and turned away
      tries = 0;
      tell("");
    }
    socket.onclose = ({ code }) => {
      const { wait, says } = afterClose(code, said, tries, Math.random());
      if (says || wait !== null) tell(says); // why it is over was said already
      if (wait === null) return;
      tries += 1;
      lost?.();
      setTimeout(connect, wait);
    };
  }
  connect();
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
