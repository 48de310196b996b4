// A run in progress: counts move with every frame of events; tables and charts follow at a pace the page can keep.
// Of a run in time only the events of the run itself are followed: a day has a million, and its clock tells how far it is.
import { drawCharts, redraw } from "./charts.js";
import { onKeys } from "./keys.js";
import { loadParts } from "./lazy_load.js";
import { follow } from "./socket.js";

const page = document.getElementById("run");
const part = (name) => document.querySelector(`[data-part="${name}"]`);
const latest = new Map(); // pod -> outcome of its newest cycle
const inTime = page.dataset.inTime !== undefined;
const NOBODY = "-/-"; // no pod has this name
let cycles = null;

function tally(events) {
  for (const event of events) {
    if (event.type === "run.started") page.dataset.total = event.data.pods ?? page.dataset.total;
    if (event.type !== "cycle.finished") continue;
    cycles += 1;
    latest.set(event.pod, event.data.result);
  }
}

function show() {
  const total = Math.max(Number(page.dataset.total) || 0, cycles);
  const number = new Intl.NumberFormat("en");
  const progress = document.getElementById("progress");
  progress.max = total || 1;
  progress.value = cycles;
  part("cycles").firstChild.textContent = `${number.format(cycles)} `;
  const of = part("cycles").querySelector("span");
  if (of && total) of.textContent = `/ ${number.format(total)}`;
}

// Tokens of forms differ each time; who is on a button stays on it.
const plain = (element) => element.innerHTML.replace(/(csrfmiddlewaretoken" value=")[^"]*/g, "$1");

// Exchanges what the server renders, part by part: nothing that the person holds (search, focus, scroll) is touched.
async function refresh() {
  const response = await fetch(location.href, { headers: { "X-Requested-With": "fetch" } });
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const old of document.querySelectorAll("[data-part]")) {
    const now = fresh.querySelector(`[data-part="${old.dataset.part}"]`);
    if (now && plain(now) !== plain(old)) old.innerHTML = now.innerHTML;
  }
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
  document.dispatchEvent(new CustomEvent("refreshed", { detail: { over: !fresh.getElementById("run").dataset.live } }));
}

function live() {
  cycles = Number(document.getElementById("progress").value);
  let changed = false;
  let over = false;
  let painting = false;
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
  follow(page.dataset.live, Number(page.dataset.seq), {
    pod: inTime ? NOBODY : "",
    onEvents(events) {
      changed = true;
      if (inTime) return;
      tally(events);
      if (painting) return;
      painting = true;
      requestAnimationFrame(() => {
        painting = false;
        show();
      });
    },
    onEnd() {
      over = true;
    },
  });
  pace();
}

// Presenting begins at the cycle that the map is at.
const there = document.querySelector("[data-present]");
there.addEventListener("click", () => {
  const at = new URL(location.href).searchParams;
  const address = new URL(there.href);
  for (const key of ["cycle", "point", "plugin"]) if (at.has(key)) address.searchParams.set(key, at.get(key));
  there.href = address.href;
});
onKeys({ s: () => there.click() });

drawCharts(document);
loadParts();
if (page.dataset.live) live();
