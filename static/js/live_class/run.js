// Live class on a run: shows the shared page. For the teacher, links in the page navigate for the whole class.
import { link, page, remember, say, show } from "./socket.js";
import { count, lead, teach } from "./teacher_common.js";

const teaches = page.hasAttribute("data-teaches");
let version = Number(page.dataset.version);

function move(state) {
  version = state.version;
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

page.querySelector(".room-run").addEventListener("click", (event) => {
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
if (!page.hasAttribute("data-over")) link(page.dataset.socket, { known: () => version, receive });
