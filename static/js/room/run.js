// A room on a run: shows what the class looks at; where somebody teaches, links in it lead the class along.
import { link, say, show } from "./link.js";

const room = document.getElementById("room");
const controls = document.getElementById("controls");
const teaches = room.hasAttribute("data-teaches");
let version = Number(room.dataset.version);

function heard({ room: state, counts, over }) {
  if (over && teaches) location.reload(); // the page of a room that is closed
  if (over) document.querySelector("[data-link]").textContent = over;
  if (state) {
    version = state.version;
    show(room, state.parts);
    for (const open of room.querySelectorAll("[data-open]")) open.href = state.address;
    if (controls) controls.elements.address.value = state.address;
    say(room, `The class looks at ${decodeURIComponent(state.address)}`);
  }
  if (counts) {
    show(room, { names: counts.names });
    const told = `${counts.students} ${counts.students === 1 ? "student" : "students"} in the room`;
    const place = room.querySelector("[data-summary]");
    if (place.textContent.trim() !== told) place.textContent = told;
  }
}

async function send(body) {
  try {
    const response = await fetch(controls.action, { method: "POST", headers: { "X-Requested-With": "fetch" }, body });
    const told = await response.json();
    if (!response.ok) say(room, told.error);
  } catch {
    say(room, "The server cannot be reached now. Try again.");
  }
}

controls?.addEventListener("submit", (event) => {
  event.preventDefault();
  const body = new URLSearchParams(new FormData(controls));
  if (event.submitter?.name) body.append(event.submitter.name, event.submitter.value);
  send(body);
});

room.querySelector(".room-run").addEventListener("click", (event) => {
  const to = event.target.closest("a[href]");
  if (!to || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  const address = new URL(to.href);
  if (address.pathname === location.pathname) return;
  event.preventDefault();
  if (!teaches) {
    if (room.querySelector("[data-open]")) open(to.href, "_blank", "noopener"); // the room stays where the class is
    return;
  }
  const body = new URLSearchParams(new FormData(controls));
  body.set("address", address.pathname + address.search);
  send(body);
});

if (!room.hasAttribute("data-over")) link(room.dataset.socket, { known: () => version, heard });
