// @ts-check
// Labels of queues, pods and events in the charts over virtual time.

/** Meaning of each queue. @type {Record<string, string>} */
export const LANES = {
  active: "in activeQ, scheduled next",
  popped: "being tried",
  backoff: "failed, waits for its backoff to end",
  unschedulable: "failed, waits for an event that may help",
  gated: "rejected by PreEnqueue",
  waiting: "has a node, held by Permit or being bound",
  bound: "runs on its node",
  gone: "finished, deleted or evicted",
};

/** @param {string | null | undefined} lane */
export const nameOf = (lane) => (lane === "popped" ? "in a cycle" : lane || "new");

/** Return the queue to draw: the state "popped" is too short to be visible. @param {string} lane */
export const drawnAs = (lane) => (lane === "popped" ? "active" : lane);

/** Return the name without the namespace: "front-1" for "shop/front-1". @param {string} key */
export const nameIn = (key) => key.slice(key.indexOf("/") + 1);

/**
 * Shorten a long name in the middle, because similar names differ at their ends.
 * @param {string} name @param {number} size maximum number of characters
 */
export function shortened(name, size = 28) {
  if (name.length <= size) return name;
  const tail = Math.floor(size / 2);
  return `${name.slice(0, size - 1 - tail)}…${name.slice(-tail)}`;
}

/**
 * Return the address of a pod's page, optionally at a time.
 * @param {string} base "/runs/7/pods/" @param {string} key "namespace/name" @param {number} [t] seconds
 */
export function podAddress(base, key, t) {
  const page = `${base}${key.split("/").map(encodeURIComponent).join("/")}/`;
  return t === undefined ? page : `${page}?t=${exact(t)}`;
}

/**
 * Return the address of a node's page, optionally at a time.
 * @param {string} base "/runs/7/nodes/" @param {string} name @param {number} [t] seconds
 */
export const nodeAddress = (base, name, t) =>
  `${base}${encodeURIComponent(name)}/${t === undefined ? "" : `?t=${exact(t)}`}`;

/** Round a time to the precision of the recording, for URLs. @param {number} t seconds */
export const exact = (t) => Number(t.toFixed(6));

/** Outcome of an attempt: tone and text. @type {Record<string, [tone: string, words: string]>} */
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
