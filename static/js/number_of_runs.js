// Shows how many runs a form of an experiment starts, and how long one worker needs for them.
import { runsOf, sentence } from "./experiment_runs.js";

const place = document.getElementById("number-of-runs");
const form = place?.closest("form");

function show() {
  place.textContent = sentence(runsOf(new FormData(form)), Number(place.dataset.seconds));
}

if (form) {
  form.addEventListener("input", show);
  show();
}
