// The page of a run. While the run is active, its progress arrives over a websocket; the page then fetches its parts
// and tables, as often as the server responds. Its counts are those of the timepoint that the map shows.
import { keepParams } from "./address.js";
import { drawCharts, redraw } from "./charts.js";
import { counted, number } from "./format.js";
import { onKeys } from "./keys.js";
import { loadParts } from "./lazy_load.js";
import { refreshParts } from "./partial_update.js";
import { connect } from "./socket.js";
import { clock } from "./timeline/clock.js";

const page = document.getElementById("run");
const part = (name) => document.querySelector(`[data-part="${name}"]`);
const inTime = page.dataset.inTime !== undefined;

let planned = 0; // cycles of the whole run, as far as known
let seen = Number(page.dataset.seq); // the last event
let over = false; // whether the progress has ended
let ended = false; // whether the page shows the outcome
const followed = document.querySelector("#map[data-live]") !== null; // the map shows a timepoint

// Shows how many cycles were done at a timepoint, of how many.
function showCycles(done, of) {
  part("cycles").firstChild.textContent = `${number.format(done)} `;
  const total = part("cycles").querySelector("span");
  if (!total) return; // in virtual time
  const progress = document.getElementById("progress");
  Object.assign(progress, { max: Math.max(of, planned) || 1, value: done });
  total.textContent = `/ ${number.format(progress.max)}`;
}

function showClock(t) {
  const until = Number(page.dataset.until);
  part("clock").textContent = until && t >= until ? clock(t) : `at ${clock(t)}${until ? ` of ${clock(until)}` : ""}`;
  document.getElementById("progress").value = t;
}

function showTimepoint({ position, head, placed, pending, t }) {
  showCycles(position, head);
  if (inTime) showClock(t);
  const answer = part("answer").querySelector(".answer:not([data-waits])");
  if (ended || !answer) return;
  const pods = placed + pending;
  answer.textContent = `${number.format(placed)} of ${counted(pods, "pod")} placed, ${number.format(pending)} pending.`;
}

// The form of a fork has the timepoint that the map shows, until the user enters another one.
function offerFork({ focus, t }) {
  const [cycle, second] = ["fork-at", "fork-t"].map((id) => document.getElementById(id));
  if (!cycle || [cycle, second].some((field) => field && field.value !== field.defaultValue)) return;
  const timed = second !== null && (focus.t !== undefined || focus.seq !== undefined);
  cycle.defaultValue = timed ? "" : (focus.cycle ?? 1);
  if (second) second.defaultValue = timed ? Number(t.toFixed(3)) : "";
}

// Updates the parts that the server renders. The user's search, focus and scroll position are preserved.
async function refresh() {
  const last = over;
  const counts = ["cycles", "clock", ...(last ? [] : ["answer"])]; // the map shows them
  const fresh = await refreshParts((name) => followed && seen > 0 && counts.includes(name));
  ended = last;
  const bar = fresh.getElementById("progress");
  if (inTime && bar && !followed)
    Object.assign(document.getElementById("progress"), { max: bar.max, value: bar.value });
  if (!page.dataset.live) document.querySelectorAll("[data-source]").forEach(redraw);
  loadParts();
  const table = document.querySelector("#pods");
  if (table && !table.contains(document.activeElement)) {
    const now = fresh.querySelector("#pods");
    if (now) table.replaceWith(now);
  } else if (!table && fresh.querySelector("#pods")) {
    location.reload();
  }
  if (!fresh.getElementById("run").dataset.live) delete page.dataset.live;
  document.dispatchEvent(new CustomEvent("refreshed", { detail: { over: !page.dataset.live } }));
}

function live() {
  let changed = false;
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
      page.dataset.reached = progress.clock;
      seen = progress.last_seq;
      planned = progress.cycles_total;
      if (!followed && !inTime) showCycles(progress.cycles_done, planned);
    },
    onEnd() {
      over = true;
    },
  });
  pace();
}

// Presentation starts at the cycle that the map shows.
const present = document.querySelector("[data-present]");
present.addEventListener("click", () => keepParams(present, ["cycle", "point", "plugin"]));
onKeys({ s: () => present.click() });

document.addEventListener("timepoint", ({ detail }) => offerFork(detail));
drawCharts();
loadParts();
if (page.dataset.live) {
  if (followed) document.addEventListener("timepoint", ({ detail }) => showTimepoint(detail));
  live();
}
