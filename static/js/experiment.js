// Updates the page of an experiment until it ends, and then shows its answer. Focus and scroll position are preserved.
import "./load_charts.js";
import { morph } from "./morph.js";
import { refreshParts } from "./partial_update.js";
import { fetchPage } from "./requests.js";

async function look() {
  try {
    const ended = (await refreshParts()).querySelector("#experiment:not([data-active])");
    if (ended) return await showAnswer();
  } catch {
    // the server is being restarted, or the network is away: try again
  }
  setTimeout(look, 1000);
}

async function showAnswer() {
  const shown = document.querySelector("#experiment");
  const answered = (await fetchPage(location.href)).querySelector("#experiment");
  const focused = document.activeElement;
  morph(shown, answered);
  delete shown.dataset.active;
  if (!focused.isConnected) shown.querySelector("h1").focus();
  document.dispatchEvent(new CustomEvent("swapped", { detail: shown }));
}

setTimeout(look, 500);
