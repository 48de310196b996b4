// Updates the page of an experiment until it ends; its answer then needs the whole page.
import { refreshParts } from "./partial_update.js";

async function look() {
  try {
    const fresh = await refreshParts();
    if (!fresh.querySelector("#experiment[data-active]")) return location.reload();
  } catch {
    // the server is being restarted, or the network is away: try again
  }
  setTimeout(look, 1000);
}

setTimeout(look, 500);
