// Small still maps, drawn when they come into view: <canvas data-map="address">, or data-sample="number" for a map that
// is part of the page. The text next to one says what it shows.
import { whenVisible } from "../dom.js";
import { fetchJson } from "../requests.js";
import { World } from "./cluster_model.js";
import { colouring } from "./colours.js";
import { BY_NOTHING, grouped } from "./grouping.js";
import { HEAD, layout, PAD } from "./layout.js";
import { commonParts } from "./node_names.js";
import { Painter } from "./renderer.js";
import { Scene } from "./scene.js";

// All nodes without groups and names: the space is for their boxes.
const STILL = {
  camera: { x: PAD, y: HEAD, zoom: 1 },
  picture: { of: new Map() },
  chosen: "",
  flights: [],
  now: 0,
  bare: true,
};
const samples = JSON.parse(document.getElementById("sample-maps")?.textContent ?? "{}");
const ALIKE = { keys: new Set(), nodes: new Map() };

async function show(canvas) {
  try {
    const { map, sample } = canvas.dataset;
    const world = new World(map ? await fetchJson(map, "") : samples[sample]);
    if (!world.nodes.size) throw new Error("no nodes");
    const painter = new Painter(canvas);
    const restyle = () => {
      painter.restyle();
      painter.colour.paper = painter.colour.surface; // as around the canvas
      draw(canvas, painter, world);
    };
    new ResizeObserver(restyle).observe(canvas);
    document.addEventListener("themechange", restyle);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", restyle);
  } catch {
    canvas.hidden = true; // such as a run whose recording was deleted
  }
}

function draw(canvas, painter, world) {
  const groups = grouped([...world.nodes.values()], BY_NOTHING);
  const about = { before: world.before, last: world.before, victims: new Set() };
  const there = [...world.pods.values()].filter(({ state }) => state > 0);
  const scene = new Scene(world, "cpu", colouring(canvas.dataset.colour, there, painter.theme, about));
  const names = commonParts(groups.flatMap((group) => group.nodes));
  const placed = layout(groups, canvas.clientWidth + PAD, canvas.clientHeight + HEAD);
  painter.draw({ ...STILL, layout: placed, names, scene, differing: ALIKE });
}

for (const canvas of document.querySelectorAll("canvas.small-map")) whenVisible(canvas, () => show(canvas), "200px");
