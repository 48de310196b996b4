// Maps come once the page is there: over a slow link its answer and its tables are read first. A run that tried
// nothing has none.

const there = (id) => document.getElementById(id);
const begin = () => (there("maps") && import("./compare_maps.js")) || (there("map") && import("./map.js"));

if (document.readyState === "complete") begin();
else addEventListener("load", begin, { once: true });
