// Live class on a run: shows the shared page. For the teacher, links in the page navigate for the whole class.
import { link, remember, say, show } from "./socket.js";
import { count, lead, teach } from "./teacher_common.js";

const room = document.getElementById("room");
const teaches = room.hasAttribute("data-teaches");
let version = Number(room.dataset.version);

function move(state) {
  version = state.version;
  show(room, state.parts);
  for (const open of room.querySelectorAll("[data-open]")) open.href = state.address;
  for (const button of room.querySelectorAll("[data-to]")) {
    button.value = state[button.dataset.to];
    button.disabled = !button.value;
  }
  const address = document.getElementById("address");
  if (address && address !== document.activeElement) address.value = state.address;
  say(room, state.at || `Shown: ${decodeURIComponent(state.address)}`);
}

function heard({ room: state, counts, over }) {
  if (over && teaches) location.reload(); // show the page of the closed class
  if (over) document.querySelector("[data-link]").textContent = over;
  if (state) move(state);
  if (counts) count(room, counts);
}

room.querySelector(".room-run").addEventListener("click", (event) => {
  const to = event.target.closest("a[href]");
  if (!to || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  const address = new URL(to.href);
  if (address.pathname === location.pathname) return;
  event.preventDefault();
  if (teaches) lead(room, address.pathname + address.search);
  // open in a new tab; this page keeps following the class
  else if (room.querySelector("[data-open]")) open(to.href, "_blank", "noopener");
});

remember(room);
if (teaches) teach(room, room.querySelectorAll("[data-to]"));
if (!room.hasAttribute("data-over")) link(room.dataset.socket, { known: () => version, heard });
