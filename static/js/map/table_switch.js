// The button that shows a map as a table instead.

// Returns a function that updates the table if it is shown. `player`: has the `world`. `button`: of several maps.
export function tableSwitch(box, view, player, button = box.querySelector("[data-as-table]")) {
  const part = (name) => box.querySelector(`[data-${name}]`);
  let table = null; // created on demand
  button.addEventListener("click", async () => {
    const on = part("table").hidden;
    button.setAttribute("aria-pressed", String(on));
    part("table").hidden = !on;
    part("canvas").hidden = on;
    if (!on) view.arrange(view.world);
    else {
      const { NodeTable } = await import("./table.js");
      table ??= new NodeTable(part("table"), view, player);
      if (!player.arriving) table.show(); // else it is shown with the text
    }
  });
  // The row that a user reads does not move away during playback.
  return () => (player.playing && part("table").contains(document.activeElement)) || table?.show();
}
