// Draws <div class="chart" data-chart="id"> with Plotly (data-library) after the page has loaded and when the chart
// becomes visible. Plotly is large, so the data (data-source) is fetched together with it and is not part of the
// page.
import { whenVisible } from "./dom.js";
import { fetchJson } from "./requests.js";

const drawn = new Map(); // element -> function that redraws it
const loaded = new Promise((resolve) => {
  if (document.readyState === "complete") resolve();
  else addEventListener("load", resolve, { once: true });
});

let library;

function plotly(address) {
  library ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = address;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => reject(new Error("The chart library could not be loaded."));
    document.head.append(script);
  });
  return library;
}

function themed(layout) {
  const css = getComputedStyle(document.documentElement);
  const color = (name) => css.getPropertyValue(name).trim();
  const axis = { gridcolor: color("--line"), zerolinecolor: color("--line-2"), linecolor: color("--line-2") };
  const themedLayout = { ...layout, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)" };
  themedLayout.font = { family: css.getPropertyValue("--font"), size: 12, color: color("--ink-2"), ...layout.font };
  themedLayout.hoverlabel = {
    bgcolor: color("--surface"),
    bordercolor: color("--line-2"),
    font: { color: color("--ink") },
  };
  for (const key of Object.keys(layout)) if (/^[xy]axis\d*$/.test(key)) themedLayout[key] = { ...axis, ...layout[key] };
  return themedLayout;
}

const figureOf = (holder) => fetchJson(holder.dataset.source, "The data of the chart could not be loaded.");

async function drawWithPlotly(holder) {
  await loaded;
  let figure;
  try {
    const [Plotly, first] = await Promise.all([plotly(holder.dataset.library), figureOf(holder)]);
    const show = () =>
      Plotly.react(holder, figure.data, themed(figure.layout), {
        displaylogo: false,
        responsive: true,
        displayModeBar: false,
      });
    figure = first;
    holder.querySelector(".wait")?.remove();
    await show();
    document.addEventListener("themechange", show);
    drawn.set(holder, async () => {
      figure = await figureOf(holder);
      show();
    });
  } catch (error) {
    const wait = holder.querySelector(".wait");
    if (wait) wait.textContent = error.message;
  }
}

export function drawCharts(within = document) {
  for (const holder of within.querySelectorAll("[data-chart]"))
    whenVisible(holder, () => drawWithPlotly(holder), "200px");
}

// Redraws a chart that was drawn before, because its data has changed.
export function redraw(holder) {
  drawn.get(holder)?.();
}
