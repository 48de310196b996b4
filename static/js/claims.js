// Shows the devices that a pod's claims find on the selected node, which the URL contains (`node`).
import { param, pushAddress, withParams } from "./address.js";
import { loadParts, reload } from "./lazy_load.js";

const box = () => document.getElementById("claims");

function choose(node) {
  pushAddress(withParams({ point: document.getElementById("pod").dataset.point, node }));
  reload(box(), { node });
}

// Call this when the Filter panel becomes visible: the slow section is fetched only then.
export async function showClaims() {
  if (!box()) return;
  await loadParts(box().parentElement);
  const node = param("node");
  if (node && node !== box().querySelector("[data-node]")?.dataset.node) await reload(box(), { node });
}

document.addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  const node = event.target.closest("[data-claims-of]");
  const page = event.target.closest("[data-claims-page]");
  if (!node && !page) return;
  if (!box()?.dataset.load) return; // the section has a page of its own
  event.preventDefault();
  if (node) choose(node.dataset.claimsOf);
  else reload(box(), { page: page.dataset.claimsPage });
});
document.addEventListener("submit", (event) => {
  if (!event.target.closest("#claims")) return;
  event.preventDefault();
  choose(new FormData(event.target).get("node"));
});
