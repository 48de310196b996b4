// @ts-check
// How lanes, pods and events are called in the pictures of virtual time.

/** What each lane means. @type {Record<string, string>} */
export const LANES = {
  active: "in activeQ, to be tried next",
  popped: "being tried",
  backoff: "failed, waits for its backoff to end",
  unschedulable: "failed, waits for an event that may help",
  gated: "held back before the queue",
  waiting: "has a node, held by Permit or being bound",
  bound: "runs on its node",
  gone: "finished, deleted or evicted",
};

/** @param {string | null | undefined} lane */
export const nameOf = (lane) => (lane === "popped" ? "in a cycle" : lane || "new");

/** The lane that is drawn for one that is too short to be seen. @param {string} lane */
export const drawnAs = (lane) => (lane === "popped" ? "active" : lane);

/** "shop/front-1" is called "front-1". @param {string} key */
export const nameIn = (key) => key.slice(key.indexOf("/") + 1);

/**
 * A long name without its middle: names of a kind differ at their end.
 * @param {string} name
 * @param {number} size at most so many characters
 */
export function shortened(name, size = 28) {
  if (name.length <= size) return name;
  const tail = Math.floor(size / 2);
  return `${name.slice(0, size - 1 - tail)}…${name.slice(-tail)}`;
}

/**
 * The address of a pod's page, at a moment if one is given.
 * @param {string} base "/runs/7/pods/"
 * @param {string} key "namespace/name"
 * @param {number} [t] seconds
 */
export function podAddress(base, key, t) {
  const page = `${base}${key.split("/").map(encodeURIComponent).join("/")}/`;
  return t === undefined ? page : `${page}?t=${exact(t)}`;
}

/**
 * The address of a node's page, at a moment if one is given.
 * @param {string} base "/runs/7/nodes/"
 * @param {string} name
 * @param {number} [t] seconds
 */
export const nodeAddress = (base, name, t) =>
  `${base}${encodeURIComponent(name)}/${t === undefined ? "" : `?t=${exact(t)}`}`;

/** A moment as addresses hold it: as exact as it is recorded. @param {number} t seconds */
export const exact = (t) => Number(t.toFixed(6));

/** Outcome of an attempt: its colour and its words. @type {Record<string, [tone: string, words: string]>} */
export const RESULTS = {
  scheduled: ["ok", "✓ placed"],
  unschedulable: ["bad", "✕ no node"],
  gated: ["held", "◆ gated"],
  error: ["odd", "! error"],
  waiting: ["live", "⋯ waits in Permit"],
  binding: ["live", "⋯ being bound"],
  unreserved: ["bad", "✕ rejected by Reserve"],
  refused: ["bad", "✕ rejected by Permit"],
  unbound: ["odd", "! binding failed"],
};
