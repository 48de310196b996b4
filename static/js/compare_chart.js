// Charts of a comparison.
import { drawCharts } from "./charts.js";

drawCharts();
