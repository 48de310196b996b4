// What every page may use: theme switch, copy buttons, parts that are exchanged in place, charts, live regions.
import { drawCharts } from "./charts.js";
import { swapParts } from "./swap.js";

function switchTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
  const next = now === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try { localStorage.setItem("theme", next); } catch { /* not remembered, but switched */ }
  document.dispatchEvent(new Event("themechange"));
}

async function copy(button) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(document.getElementById(button.dataset.copy));
    button.textContent = "Selected";
  }
  setTimeout(() => { button.textContent = label; }, 1500);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.matches("[data-theme-switch]")) switchTheme();
  if (button.matches("[data-copy]")) copy(button);
  if (button.matches("[data-confirm]") && !confirm(button.dataset.confirm)) event.preventDefault();
});

swapParts();
drawCharts(document);
