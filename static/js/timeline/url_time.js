// The URL contains the shown time, so that it can be shared.
import { param, replaceParams } from "../address.js";
import { exact } from "./labels.js";

export function remember(t) {
  replaceParams({ t: exact(t) });
}

export function remembered() {
  const text = param("t");
  const t = text === null || text.trim() === "" ? Number.NaN : Number(text);
  return Number.isFinite(t) && t >= 0 ? t : null;
}
