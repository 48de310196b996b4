// Map of the edited cluster: nodes, and the pods with a nodeName.

import { counted } from "../format.js";
import { World } from "../map/cluster_model.js";
import { Choices } from "../map/display_options.js";
import { Legend } from "../map/legend.js";
import { View } from "../map/view.js";

export class Picture {
  // `chosen`: called with the name of a selected node.
  constructor(box, chosen) {
    this.box = box;
    this.view = new View(box.querySelector("[data-canvas]"), (name) => {
      this.view.mark(name);
      if (name) chosen(name);
    });
    this.view.tallest = 0.3;
    this.choices = new Choices(box, [this.view], () => this.legend.show());
    this.legend = new Legend(box.querySelector("[data-shades]"), this.view);
    this.drawn = "";
    box.addEventListener("click", ({ target }) => {
      const look = target.closest("[data-look]");
      if (look) this.view.step(look.dataset.look);
    });
  }

  show(picture) {
    const { box, view } = this;
    box.hidden = !picture.nodes.name.length;
    const now = JSON.stringify(picture);
    if (box.hidden || now === this.drawn) return;
    this.drawn = now;
    view.world = new World(picture);
    this.choices.offer([view.world]);
    this.legend.show();
    const hand = box.querySelector("[data-hand]");
    hand.hidden = !picture.waiting;
    hand.textContent = counted(picture.waiting, "pending pod");
  }
}
