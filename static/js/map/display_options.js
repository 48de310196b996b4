// Display options of a map: grouping, resource and colours, stored in the URL.
import { param, replaceParams } from "../address.js";
import { el } from "../dom.js";
import { BY } from "./colours.js";
import { BY_NOTHING, choices, keyNames, usual } from "./grouping.js";
import { resourceName } from "./quantities.js";

export class Choices {
  // `views`: share these options. `changed`: called when an option changes.
  constructor(box, views, changed) {
    this.views = views;
    this.by = views[0].by;
    this.selects = Object.fromEntries(
      ["group", "fill", "colour"].map((name) => [name, box.querySelector(`[data-${name}]`)]),
    );
    for (const [name, select] of Object.entries(this.selects))
      select.addEventListener("change", () => {
        this.by[name] = select.value;
        if (name === "fill") this.own = true;
        if (name === "group") this.by.chosen = select.value;
        this.write(name);
        if (name === "group") views[0].camera = { x: 0, y: 0, zoom: 1 };
        for (const view of views)
          if (name === "group") view.arrange(view.world);
          else view.recolour();
        changed();
      });
  }

  // The query parameter of an option; pages may override it.
  key(name) {
    return this.selects[name].dataset.key ?? name;
  }

  kept(name) {
    return param(this.key(name));
  }

  write(...names) {
    replaceParams(Object.fromEntries(names.map((name) => [this.key(name), this.by[name]])));
  }

  // Fills the nodes by a resource, unless the user chose one.
  prefer(resource) {
    const { by, selects, views } = this;
    const offered = [...selects.fill.options].some(({ value }) => value === resource);
    if (this.own || this.kept("fill") !== null || !offered || by.fill === resource) return;
    by.fill = resource;
    selects.fill.value = resource;
    for (const view of views) view.recolour();
  }

  // Offers the choices for these clusters.
  offer(worlds) {
    const { by } = this;
    const offered = choices(this.views[0].ground.nodes());
    const wanted = this.kept("group");
    const known = wanted !== null && (wanted === BY_NOTHING || offered.some(([key]) => key === wanted));
    by.group = known ? wanted : (by.chosen ?? usual(offered));
    const names = keyNames(offered.map(([key]) => key));
    const groups = offered.map(([key, count]) => [key, `${names.get(key)} (${count})`, key]);
    fill(this.selects.group, [...groups, [BY_NOTHING, "no groups"]], by.group);
    const resources = [...new Set(worlds.flatMap((world) => world.resources()))];
    if (!resources.includes(by.fill)) by.fill = resources[0];
    if (resources.includes(this.kept("fill"))) by.fill = this.kept("fill");
    const filled = resources.map((one) => [one, resourceName(one), one]);
    fill(this.selects.fill, filled, by.fill);
    if (BY[this.kept("colour")]) by.colour = this.kept("colour");
    fill(this.selects.colour, Object.entries(BY), by.colour);
    this.views.forEach((view, index) => {
      view.arrange(worlds[index]);
    });
  }
}

function fill(select, options, chosen) {
  select.replaceChildren(
    ...options.map(([value, text, title]) =>
      el("option", { value, text, title, selected: value === chosen ? "" : undefined }),
    ),
  );
}
