// Loads maps after the page, so that text and tables appear first on slow connections. A run without cycles has no
// map. A part with data-stages has maps of stages, or gets some.

const there = (id) => document.getElementById(id);
const begin = () =>
  (there("maps") && import("./compare_maps.js")) ||
  (there("map") && import("./map.js")) ||
  (there("pod-map") && import("./pod_map.js")) ||
  (there("cluster") && import("./scenario_map.js")) ||
  (there("live-map") && import("./live_map.js")) ||
  (document.querySelector("[data-stages]") && import("./stage_map.js")) ||
  (document.querySelector("canvas.small-map") && import("./thumbnails.js"));

if (document.readyState === "complete") begin();
else addEventListener("load", begin, { once: true });
document.addEventListener("podrefreshed", begin); // the first cycle of a pod brings its map
