// A page whose charts are drawn when they are shown, and again when the page is updated.
import { drawCharts, redraw } from "./charts.js";

drawCharts();
document.addEventListener("refreshed", () => {
  for (const holder of document.querySelectorAll("[data-chart]")) redraw(holder);
});
