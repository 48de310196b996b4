// Shows how many computations a form of an experiment starts, and how long one worker needs for them.
import { cellsOf, sentence } from "./experiment_runs.js";

const place = document.getElementById("number-of-runs");
const form = place?.closest("form");

function show() {
  const cost = JSON.parse(place.dataset.cost);
  place.textContent = sentence(cellsOf(new FormData(form), cost), cost);
}

if (form) {
  form.addEventListener("input", show);
  show();
}
