// Follows a pod of a run that goes on: its place in the queue while it waits, then the steps of its cycle one by one.
import { connect, followPod } from "./socket.js";
import { QueuePlace } from "./timeline/queue_place.js";

const PACE = 450; // milliseconds for a step, readable even if the whole cycle arrives at once
const CHANGES = ["run.started", "cycle.finished", "run.finished"]; // events after which the server's page differs

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// Calls `reload` when the server has more to show; it returns when that is shown.
export function follow({ live, pod, seq }, reload) {
  let due = 0;
  let turn = Promise.resolve();
  followPod(live, pod, Number(seq), {
    onEvents(events) {
      if (!events.some(({ type }) => CHANGES.includes(type))) return;
      clearTimeout(due);
      due = setTimeout(() => {
        turn = turn.then(reload);
      }, 60);
    },
  });
  let shown = null; // the row of the place that `place` counts from; each page has a new one
  let place = null;
  connect(`${live}/progress`, {
    onMessage({ progress }) {
      const row = document.querySelector("#timeline [data-ahead]");
      if (row !== shown) {
        shown = row;
        place = row && new QueuePlace(...["ahead", "done"].map((key) => Number(row.dataset[key])));
      }
      if (!place) return;
      place.update(progress.cycles_done, performance.now());
      row.querySelector("[data-turn]").textContent = place.text;
    },
  });
}

let current = null;

// Shows the steps of an attempt one after another, each with its panel, then the rest of the page. A key or a click
// shows everything at once.
export async function revealSteps(page, open) {
  const steps = [...page.querySelectorAll("#stepper [data-step]")];
  const mine = { over: false };
  current = mine;
  page.classList.add("revealing");
  for (const step of steps) step.classList.add("coming");
  for (const step of steps) {
    await pause(PACE);
    if (mine.over || !page.isConnected) break;
    step.classList.remove("coming");
    step.classList.add("arriving");
    open(step.dataset.step);
  }
  if (!mine.over) await pause(PACE);
  for (const step of steps) step.classList.remove("coming");
  page.classList.remove("revealing");
  current = null;
}

export function showAllSteps() {
  if (!current) return;
  current.over = true;
  for (const step of document.querySelectorAll("#stepper .coming")) step.classList.remove("coming");
  document.getElementById("pod").classList.remove("revealing");
}
for (const type of ["keydown", "pointerdown"]) addEventListener(type, showAllSteps);
