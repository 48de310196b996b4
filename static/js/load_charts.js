// A page whose charts are drawn when they are shown, and again when the page is updated or a part of it is replaced.
import { drawCharts, redraw } from "./charts.js";

drawCharts();
document.addEventListener("swapped", (event) => drawCharts(event.detail));
document.addEventListener("refreshed", () => {
  for (const holder of document.querySelectorAll("[data-chart]")) redraw(holder);
});
