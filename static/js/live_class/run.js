// Live class on a run: shows the shared page. For the teacher, links in the page navigate for the whole class.
import { withFocus } from "../map/url_state.js";
import { link, page, remember, say, show } from "./socket.js";
import { count, lead, teach } from "./teacher_common.js";

const SPACING = 1000; // milliseconds between two timepoints that the player shows to the class
const RECENT = 20; // addresses that the player has shown
const teaches = page.hasAttribute("data-teaches");
let version = Number(page.dataset.version);

// The map of the teacher, whose player leads the class: the address that it shows, and those that it sent last.
const map = document.getElementById("map");
let played = "";
let sent = [];
let sending = false;

// Shows the timepoint of the player to the class; the first one is where the class is.
async function follow({ detail: { focus } }) {
  const first = !played;
  const address = map.dataset.leads + withFocus("", focus);
  if (address === played) return;
  played = address;
  if (first) sent.push(played);
  if (sending) return;
  sending = true;
  while (sent.at(-1) !== played) {
    sent = [...sent.slice(-RECENT), played];
    await lead(played);
    await new Promise((rests) => setTimeout(rests, SPACING));
  }
  sending = false;
}

// The class has moved without the player.
function moved({ address }) {
  map.dataset.at = address;
  if (sent.includes(address) || new URL(address, location).pathname !== map.dataset.leads) return;
  played = "";
  document.dispatchEvent(new CustomEvent("led", { detail: { address } }));
}

function move(state) {
  version = state.version;
  if (map) moved(state);
  show(state.parts);
  for (const open of page.querySelectorAll("[data-open]")) open.href = state.address;
  for (const button of page.querySelectorAll("[data-to]")) {
    button.value = state[button.dataset.to];
    button.disabled = !button.value;
  }
  const address = document.getElementById("address");
  if (address && address !== document.activeElement) address.value = state.address;
  say(state.at || `Shown: ${decodeURIComponent(state.address)}`);
}

function receive({ room: state, counts, over }) {
  if (over && teaches) location.reload(); // show the page of the closed class
  if (over) document.querySelector("[data-link]").textContent = over;
  if (state) move(state);
  if (counts) count(counts);
}

page.querySelector(".live-class-run").addEventListener("click", (event) => {
  const to = event.target.closest("a[href]");
  if (!to || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  const address = new URL(to.href);
  if (address.pathname === location.pathname) return;
  event.preventDefault();
  if (teaches) lead(address.pathname + address.search);
  // open in a new tab; this page keeps following the class
  else if (page.querySelector("[data-open]")) open(to.href, "_blank", "noopener");
});

remember();
if (teaches) teach(page.querySelectorAll("[data-to]"));
if (map) document.addEventListener("timepoint", follow);
if (!page.hasAttribute("data-over")) link(page.dataset.socket, { known: () => version, receive });
