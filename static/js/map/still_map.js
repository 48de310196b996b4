// Map of a cluster without a run: nodes, and the pods with a nodeName.
import { counted, number } from "../format.js";
import { DELETING, GATED, PENDING, World } from "./cluster_model.js";
import { Choices } from "./display_options.js";
import { Legend } from "./legend.js";
import { scarceResource } from "./quantities.js";
import { tableSwitch } from "./table_switch.js";
import { View } from "./view.js";

export class StillMap {
  // `chosen`: called with the name of a selected node, or "". `tallest`: its height as a fraction of the window.
  constructor(box, chosen, tallest = 0.3) {
    this.box = box;
    this.view = new View(box.querySelector("[data-canvas]"), (name) => {
      this.view.mark(name);
      chosen(name);
    });
    this.view.tallest = tallest;
    this.choices = new Choices(box, [this.view], () => {
      this.legend.show();
      this.showTable();
    });
    this.legend = new Legend(box.querySelector("[data-shades]"), this.view);
    this.drawn = "";
    this.showTable = box.querySelector("[data-table]") ? tableSwitch(box, this.view, this.view) : () => {};
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
    this.choices.prefer(scarceResource(view.world, view.world.pending()));
    this.legend.show();
    this.showTable();
    this.showPending(picture.replicas);
  }

  // Updates the map after changes of its cluster. `moved`: result of World.go.
  changed(moved) {
    this.drawn = "";
    const { classes, of } = this.view.colouring;
    if (moved.some(({ pod }) => pod && !classes[of(pod)])) this.view.recolour(); // of a new namespace
    this.view.changed(moved, true);
    this.legend.show();
    this.showTable();
    this.showPending();
  }

  // Shows how many pods have no node. `more`: number of pods that do not exist yet.
  showPending(more = 0) {
    const hand = this.box.querySelector("[data-hand]");
    const { world } = this.view;
    const pending = world.count(PENDING) + more;
    const texts = [
      pending && counted(pending, "pending pod"),
      world.count(GATED) && `${number.format(world.count(GATED))} gated`,
      world.count(DELETING) && `${number.format(world.count(DELETING))} being deleted`,
    ];
    hand.textContent = texts.filter(Boolean).join(", ");
    hand.hidden = !hand.textContent;
  }
}
