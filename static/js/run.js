// The page of a run. While the run is active, its progress arrives over a websocket; the page then fetches its parts,
// tables and charts, as often as the server responds.
import { keepParams } from "./address.js";
import { drawCharts, redraw } from "./charts.js";
import { number } from "./format.js";
import { onKeys } from "./keys.js";
import { loadParts } from "./lazy_load.js";
import { refreshParts } from "./partial_update.js";
import { connect } from "./socket.js";

const page = document.getElementById("run");
const part = (name) => document.querySelector(`[data-part="${name}"]`);
const inTime = page.dataset.inTime !== undefined;

function showProgress(done, planned) {
  const total = Math.max(planned, done);
  const progress = document.getElementById("progress");
  progress.max = total || 1;
  progress.value = done;
  part("cycles").firstChild.textContent = `${number.format(done)} `;
  const of = part("cycles").querySelector("span");
  if (of && total) of.textContent = `/ ${number.format(total)}`;
}

// Updates the parts that the server renders. The user's search, focus and scroll position are preserved.
async function refresh() {
  const fresh = await refreshParts();
  const bar = fresh.getElementById("progress");
  if (inTime && bar) Object.assign(document.getElementById("progress"), { max: bar.max, value: bar.value });
  document.querySelectorAll("[data-source]").forEach(redraw);
  loadParts();
  const table = document.querySelector("#pods");
  if (table && !table.contains(document.activeElement)) {
    const now = fresh.querySelector("#pods");
    if (now) table.replaceWith(now);
  } else if (!table && fresh.querySelector("#pods")) {
    location.reload();
  }
  const over = !fresh.getElementById("run").dataset.live;
  if (over) delete page.dataset.live;
  document.dispatchEvent(new CustomEvent("refreshed", { detail: { over } }));
}

function live() {
  let seen = Number(page.dataset.seq);
  let changed = false;
  let over = false;
  async function pace() {
    while (!over) {
      const began = performance.now();
      const waits = document.querySelector("[data-waits]") !== null;
      if ((changed || inTime || waits) && !document.hidden) {
        changed = false;
        await refresh().catch(() => {
          changed = true;
        });
      }
      await new Promise((resolve) => setTimeout(resolve, Math.max(1200, 3 * (performance.now() - began))));
    }
    await refresh().catch(() => location.reload());
  }
  connect(page.dataset.live, {
    onMessage({ progress }) {
      if (progress.last_seq !== seen) changed = true;
      page.dataset.seq = progress.last_seq;
      seen = progress.last_seq;
      if (!inTime) showProgress(progress.cycles_done, progress.cycles_total);
    },
    onEnd() {
      over = true;
    },
  });
  pace();
}

// Presentation starts at the cycle that the map shows.
const there = document.querySelector("[data-present]");
there.addEventListener("click", () => keepParams(there, ["cycle", "point", "plugin"]));
onKeys({ s: () => there.click() });

drawCharts();
loadParts();
if (page.dataset.live) live();
