// The URL contains the shown time, so that it can be shared.
import { exact } from "./labels.js";

export function remember(t) {
  const address = new URL(location.href);
  address.searchParams.set("t", String(exact(t)));
  history.replaceState(history.state, "", address);
}

export function remembered() {
  const text = new URL(location.href).searchParams.get("t");
  const t = text === null || text.trim() === "" ? Number.NaN : Number(text);
  return Number.isFinite(t) && t >= 0 ? t : null;
}
