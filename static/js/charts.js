// Draws <div class="chart" data-chart="id"> from the JSON of <script id="id">, with Plotly loaded once it is needed.
let library;

function plotly() {
  library ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = document.querySelector("script[data-plotly]").dataset.plotly;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => reject(new Error("The chart library did not load."));
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
  themedLayout.hoverlabel = { bgcolor: color("--surface"), bordercolor: color("--line-2"), font: { color: color("--ink") } };
  for (const key of Object.keys(layout)) if (/^[xy]axis\d*$/.test(key)) themedLayout[key] = { ...axis, ...layout[key] };
  return themedLayout;
}

async function draw(holder) {
  const source = document.getElementById(holder.dataset.chart);
  if (!source) return;
  const figure = JSON.parse(source.textContent);
  try {
    const Plotly = await plotly();
    holder.querySelector(".wait")?.remove();
    await Plotly.react(holder, figure.data, themed(figure.layout), { displaylogo: false, responsive: true, displayModeBar: false });
    if (!holder.dataset.drawn) holder.on("plotly_click", (event) => follow(event.points[0]));
    holder.dataset.drawn = "yes";
  } catch (error) {
    const wait = holder.querySelector(".wait");
    if (wait) wait.textContent = error.message;
  }
}

// A mark that carries an address (customdata "/runs/...") is a link.
function follow(point) {
  const address = [point.customdata].flat().find((value) => typeof value === "string" && value.startsWith("/") && !value.startsWith("//"));
  if (address) location.assign(address);
}

const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) { seen.unobserve(entry.target); draw(entry.target); }
}, { rootMargin: "200px" });

export function drawCharts(root) {
  for (const holder of root.querySelectorAll("[data-chart]")) seen.observe(holder);
}

export function redraw(holder) {
  if (holder.dataset.drawn) draw(holder);
}

document.addEventListener("themechange", () => document.querySelectorAll("[data-drawn]").forEach(draw));
document.addEventListener("swapped", (event) => drawCharts(event.detail.parentElement || document));
