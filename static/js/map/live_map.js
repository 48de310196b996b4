// The map of a live cluster: now, with its changes, or at a position of its history.
import { whenVisible } from "../dom.js";
import { fetchJson } from "../requests.js";
import { applyChanges } from "./live_changes.js";
import { pendingMap } from "./pending_map.js";

const FAILED = "The cluster could not be loaded.";
const box = document.getElementById("live-map");
const wait = box.querySelector("[data-wait]");
const { map, aside, ladder, shown } = pendingMap(box); // the history has no ladder
let known = {}; // what is shown, for the next request

function show(picture) {
  map.show(picture);
  box.hidden = false;
  known = picture.known ?? {};
  shown.world = map.view.world ?? null;
  wait.hidden = picture.nodes.name.length > 0;
  wait.textContent = "No nodes are known.";
  showPod();
}

function showPod() {
  aside.showNode();
  if (ladder && shown.world) ladder.show();
}

let latest = "";

async function load(address) {
  latest = address;
  try {
    const picture = await fetchJson(address, FAILED);
    if (latest === address) show(picture);
  } catch (error) {
    if (latest !== address) return;
    wait.hidden = false;
    wait.textContent = error.message;
  }
}

async function update() {
  if (!shown.world) return load(box.dataset.src);
  const answer = await fetchJson(`${box.dataset.src}?${new URLSearchParams(known)}`, FAILED).catch(() => null);
  if (!answer) return; // the next update tries again
  if (!answer.changes) show(answer);
  else {
    known = answer.known;
    map.changed(applyChanges(shown.world, answer.changes));
    showPod();
  }
}

let begun = false;
whenVisible(box, () => {
  begun = true;
  load(box.dataset.src);
});
document.addEventListener("refreshed", () => begun && update());
document.addEventListener("position", ({ detail: { address } }) => {
  box.dataset.src = address;
  if (begun) load(address);
});
