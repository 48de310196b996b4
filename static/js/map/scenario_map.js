// The cluster of a scenario, before any run.
import { whenVisible } from "../dom.js";
import { fetchJson } from "../requests.js";
import { Aside } from "./inspector.js";
import { PendingLadder } from "./pending_ladder.js";
import { StillMap } from "./still_map.js";

const box = document.getElementById("cluster");
const wait = box.querySelector("[data-wait]");
const shown = { world: null, focus: {}, trace: null };
const map = new StillMap(box, choose, 0.62);
const aside = new Aside(box, shown, map.view);
const ladder = box.dataset.ladders && new PendingLadder(box, map, tellPod); // pods come later in virtual time

function tellPod(pod) {
  shown.pod = pod;
  aside.showNode();
}

function choose(node) {
  shown.focus = { node };
  aside.showNode();
}

box.addEventListener("click", ({ target }) => {
  if (!target.closest("[data-close-node]")) return;
  map.view.mark("");
  choose("");
});

async function load() {
  try {
    map.show(await fetchJson(box.dataset.src, "The cluster could not be loaded."));
    shown.world = map.view.world;
    wait.hidden = true;
    if (ladder) ladder.show();
  } catch (error) {
    wait.textContent = error.message;
  }
}

whenVisible(box, load);
