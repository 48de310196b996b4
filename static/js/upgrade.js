// Shows the progress of an upgrade preview, and each step as soon as it is computed.
import { refreshParts } from "./partial_update.js";

const page = document.getElementById("preview");
const address = `/api/upgrades/${page.dataset.upgrade}?steps=false`;
let known = document.querySelectorAll("[data-part=steps] > section").length;

function move(id, done, total) {
  const bar = document.getElementById(id);
  if (!bar) return;
  bar.max = total || 1;
  bar.value = done;
}

async function look() {
  const response = await fetch(address);
  if (!response.ok) return location.reload(); // the preview was deleted
  const preview = await response.json();
  for (const run of preview.runs) move(`run-${run.run}`, run.done, run.total);
  move("causes", preview.done, preview.planned);
  if (preview.state !== "queued" && preview.state !== "running") return location.reload();
  if (preview.known !== known) {
    known = preview.known;
    await refreshParts();
  }
  setTimeout(look, 500);
}

setTimeout(look, 300);
