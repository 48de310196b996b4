// The map comes once the page is there: over a slow link its answer and its tables are read first. A run that tried
// nothing has none.

const begin = () => document.getElementById("map") && import("./map.js");

if (document.readyState === "complete") begin();
else addEventListener("load", begin, { once: true });
