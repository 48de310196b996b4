// The cluster of a scenario, before any run.
import { whenVisible } from "../dom.js";
import { fetchJson } from "../requests.js";
import { pendingMap } from "./pending_map.js";

const box = document.getElementById("cluster");
const wait = box.querySelector("[data-wait]");
const { map, ladder, shown } = pendingMap(box); // without a ladder in virtual time, where pods come later

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
