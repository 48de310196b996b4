// Shows the devices that a pod's claims find on the selected node, which the URL contains (`node`).
import { loadParts, reload } from "./lazy_load.js";

const box = () => document.getElementById("claims");

async function open(changes) {
  const here = box();
  const address = new URL(here.dataset.load, location.href);
  for (const [key, value] of Object.entries(changes)) address.searchParams.set(key, value);
  here.dataset.load = `${address.pathname}${address.search}`;
  await reload(here);
}

function choose(node) {
  const address = new URL(location.href);
  address.searchParams.set("point", "filter");
  address.searchParams.set("node", node);
  history.pushState({ own: true }, "", address);
  open({ node });
}

// Call this when the Filter panel becomes visible: the slow section is fetched only then.
export async function showClaims() {
  if (!box()) return;
  await loadParts(box().parentElement);
  const node = new URL(location.href).searchParams.get("node");
  if (node && node !== box().querySelector("[data-node]")?.dataset.node) await open({ node });
}

document.addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  const node = event.target.closest("[data-claims-of]");
  const page = event.target.closest("[data-claims-page]");
  if (!node && !page) return;
  if (!box()?.dataset.load) return; // the section has a page of its own
  event.preventDefault();
  if (node) choose(node.dataset.claimsOf);
  else open({ page: page.dataset.claimsPage });
});
document.addEventListener("submit", (event) => {
  if (!event.target.closest("#claims")) return;
  event.preventDefault();
  choose(new FormData(event.target).get("node"));
});
