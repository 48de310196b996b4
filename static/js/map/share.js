// Shares what a map shows: a link, a picture, a clip. See docs/sharing.md.

import { number } from "../format.js";
import { pointName } from "./stepper.js";
import { still } from "./still_picture.js";

const AROUND = 5; // cycles before and after the shown one that a clip has by default
const KEPT = 60_000; // milliseconds that the browser has to write the picture

export class Share {
  // `about`: returns {pod, sentence, cycle, cycles, focus} of what is shown; `sentence`: promises the answer about it;
  // without `cycle`: the cluster between cycles.
  constructor(box, view, about) {
    this.dialog = document.getElementById("share");
    this.clip = this.dialog.querySelector("form[action]");
    Object.assign(this, { box, view, about });
    box.querySelector('[data-dialog="share"]').addEventListener("click", () => this.offer());
    this.dialog.querySelector("[data-picture]").addEventListener("click", () => this.picture());
    this.clip.addEventListener("submit", () => this.dialog.close());
    this.clip.addEventListener("formdata", ({ formData }) => {
      for (const [name, value] of Object.entries(this.shown())) formData.set(name, value);
    });
  }

  // Offers a clip of a few cycles around the shown one.
  offer() {
    const { cycle, cycles } = this.about();
    const { first, last } = this.clip.elements;
    this.clip.hidden = !cycles;
    const here = Math.min(cycle ?? cycles, cycles);
    first.value = Math.max(1, here - AROUND);
    last.value = Math.min(cycles, here + AROUND);
    for (const input of [first, last]) input.max = cycles;
  }

  // Returns the focus of the clip and the options of the map.
  shown() {
    const { cycle, focus } = this.about();
    const { group, fill, colour } = this.view.by;
    const { point, plugin, node } = focus;
    const options = Object.entries({ cycle, point, plugin, node, group, fill, colour });
    return Object.fromEntries(options.filter(([, value]) => value !== undefined));
  }

  // Saves a picture, or says why that is not possible.
  async picture() {
    const problem = this.dialog.querySelector("[data-problem]");
    problem.textContent = "";
    try {
      await this.savePicture();
    } catch (error) {
      problem.textContent = error.message;
    }
  }

  async savePicture() {
    const { view, box, dialog } = this;
    const { pod, sentence, cycle, focus } = this.about();
    const { point, plugin } = focus;
    const after = point && `, after ${pointName(point)}${plugin ? `: ${plugin}` : ""}`;
    const step = cycle ? `Cycle ${number.format(cycle)}${after ?? ""}` : "";
    const legend = box.querySelector("[data-shades]");
    const text = (await sentence()).trim();
    const blob = await still({ pod, step, sentence: text, view, legend, source: dialog.dataset.source });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = fileName([dialog.dataset.name, pod, point, plugin]);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), KEPT);
    dialog.close();
  }
}

// Returns a file name of letters, digits, dots and hyphens.
function fileName(parts) {
  const name = parts.filter(Boolean).join("-");
  return `${name.replace(/[^\w.]+/g, "-").slice(0, 180)}.png`;
}
