// The websocket of a room: comes back when it is cut off, and says what the page knows already.
import { afterClose } from "../again.js";

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

// Shows the parts that the server made of a step.
export function show(room, parts) {
  for (const [part, html] of Object.entries(parts)) {
    const place = room.querySelector(`[data-part="${part}"]`);
    if (place) fill(place, html);
  }
}

// What the server made, and escaped.
export function fill(place, html) {
  place.replaceChildren(...new DOMParser().parseFromString(html, "text/html").body.childNodes);
}

// Says where the class is, for who does not see it.
export function say(room, text) {
  const place = room.querySelector("[data-live]");
  if (place && place.textContent.trim() !== text) place.textContent = text;
}
