// A page whose only script loads its slow sections.
import { loadParts } from "./lazy_load.js";

loadParts();
