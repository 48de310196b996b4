// Pages of a live cluster. The websocket says when something is new; the page then fetches its parts again, at most
// every SPACING milliseconds and never while it is hidden. An open page keeps the cluster followed.
import { refreshParts } from "./partial_update.js";
import { connect } from "./socket.js";

const SPACING = 2000;
const page = document.getElementById("live");
let seen = Number(page.dataset.version);
let due = false;
let busy = false;

async function update() {
  if (busy) return;
  busy = true;
  while (due && !document.hidden) {
    due = false;
    const began = performance.now();
    try {
      const { version, unknown } = (await refreshParts()).getElementById("live").dataset;
      if ("unknown" in page.dataset && unknown === undefined) location.reload(); // a pod's page has more parts
      page.dataset.version = version;
      document.dispatchEvent(new CustomEvent("refreshed"));
    } catch {
      due = true; // the page could not be fetched
    }
    await new Promise((resolve) => setTimeout(resolve, Math.max(SPACING, 3 * (performance.now() - began))));
  }
  busy = false;
}

connect(page.dataset.live, {
  onMessage({ cluster }) {
    if (cluster.version !== seen) due = true;
    seen = cluster.version;
    update();
    return false;
  },
});
document.addEventListener("visibilitychange", update);
