// The timeline of a pod in virtual time: a chart of its queues, and tables of its events.
import { fetchJson } from "../requests.js";
import { exact } from "./labels.js";
import { WayPicture } from "./pod_timeline_chart.js";
import { fillTables } from "./pod_timeline_tables.js";
import { remember, remembered } from "./url_time.js";

class Way {
  constructor(box, history) {
    this.box = box;
    this.t = remembered();
    this.picture = new WayPicture(box, history);
    this.lanes = box.querySelector("[data-lanes]");
    fillTables(box, history);
    this.chooseRange();
    new ResizeObserver(() => this.draw()).observe(box.querySelector(".way").parentElement);
    this.mark();
    this.listen();
  }

  draw() {
    this.picture.draw(this.t);
  }

  // Offers the whole lifetime, or only the part in which the pod waited if that is shorter.
  chooseRange() {
    const choice = this.box.querySelector("[data-range]");
    if (!this.picture.partial()) return;
    choice.hidden = false;
    const press = (button) => {
      for (const other of choice.querySelectorAll("button")) {
        other.setAttribute("aria-pressed", String(other === button));
      }
      this.picture.choose(button.dataset.part);
      this.draw();
    };
    choice.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) press(button);
    });
    press(choice.querySelector(`[data-part="${this.picture.by.length ? "whole" : "waited"}"]`));
  }

  // Marks the time in the URL: a line in the chart and its rows in the table.
  mark() {
    let first = null;
    if (this.t !== null) this.box.querySelector("[data-moves]").open = true;
    for (const row of this.box.querySelectorAll("[data-at]")) {
      const at = this.t !== null && Math.abs(Number(row.dataset.at) - this.t) < 0.0006;
      row.classList.toggle("at", at);
      if (at) first ??= row;
    }
    this.lanes.href = `${this.lanes.dataset.lanes}?t=${exact(this.t ?? this.picture.begin)}#lanes`;
    if (first) first.closest(".scroll").scrollTop = first.offsetTop - 60;
  }

  listen() {
    this.box.addEventListener("click", (event) => {
      const link = event.target.closest("[data-t]");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.t = Number(link.dataset.t);
      remember(this.t);
      this.draw();
      this.mark();
    });
  }
}

async function load(box) {
  const wait = box.querySelector(".wait");
  try {
    const history = await fetchJson(box.dataset.src, "The timeline of this pod could not be loaded.");
    box.querySelector(".way-body").hidden = false;
    new Way(box, history);
    wait.remove();
  } catch (error) {
    wait.textContent = error.message;
  }
}

function start() {
  const box = document.getElementById("way");
  if (!box || box.dataset.begun) return;
  box.dataset.begun = "yes";
  load(box);
}

document.addEventListener("podrefreshed", start);
start();
