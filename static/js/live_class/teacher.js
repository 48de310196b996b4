// Teacher page of a live class on a lesson: controls the class and shows the answers as they arrive.
import { link, page, say, show } from "./socket.js";
import { count, teach } from "./teacher_common.js";

const controls = document.getElementById("controls");
const last = Number(page.dataset.of);
const steps = [...controls.querySelectorAll("[data-to]")];
let version = Number(page.dataset.version);
let step = Number(page.dataset.step);

function move(state) {
  version = state.version;
  step = state.step;
  show(state.parts);
  page.querySelector("[data-question]").hidden = !state.asks;
  for (const button of steps) {
    const to = step + Number(button.dataset.to);
    button.value = to;
    button.disabled = to < 1 || to > last;
  }
  const reveal = controls.querySelector("[data-reveal]");
  reveal.value = step;
  reveal.disabled = !state.asks || state.revealed;
  const bars = page.querySelector("[data-bars]");
  bars.value = step;
  bars.disabled = !state.asks || state.bars_shown;
  say(`Step ${step} of ${last}.${state.asks && state.revealed ? " The answer is shown." : ""}`);
}

function receive({ room: state, counts, over }) {
  if (state) move(state);
  if (counts) count(counts);
  if (over) location.reload(); // show the page of the closed class
}

teach(steps);
if (!page.hasAttribute("data-over")) link(`/ws/classes/teach/${page.dataset.key}`, { known: () => version, receive });
