// @ts-check
// Changes of a live cluster (/clusters/N/map/?block=B) as a piece of the map's change stream.
import { BOUND, DELETING, GATED, GONE, PENDING } from "./cluster_model.js";

/** @typedef {import("./cluster_model.js").World} World */

const BROKEN = /^node\.kubernetes\.io\/(not-ready|unreachable|out-of-service)[:=]/;

/**
 * Apply changes to a cluster. Return the pods that moved, for View.changed.
 * @param {World} world @param {any} changes
 */
export function applyChanges(world, { added, gone, nodes, nominated, gated, deleting, ready }) {
  const moment = world.to + 1;
  /** @type {Map<string, number>} */
  const ids = new Map();
  let next = 0;
  let came = world.before + 1;
  for (const pod of world.pods.values()) {
    ids.set(pod.key, pod.id);
    next = Math.max(next, pod.id + 1);
    came = Math.max(came, pod.came + 1);
  }
  const fresh = added.pods.key.map(() => next++);
  const left = new Set(gone);
  /** @type {Record<string, any[]>} */
  const places = { at: [], pod: [], node: [], state: [], came: [], was_node: [], was_state: [], was_came: [] };

  /** @param {number} id @param {string} node @param {number} state */
  function put(id, node, state) {
    const was = world.pods.get(id);
    const row = [moment, id, node, state, came++, was?.node ?? "", was?.state ?? GONE, was?.came ?? 0];
    for (const [index, column] of Object.values(places).entries()) column.push(row[index]);
  }
  for (const key of gone) {
    const id = ids.get(key);
    if (id !== undefined) put(id, "", GONE);
  }
  added.pods.key.forEach((/** @type {string} */ key, /** @type {number} */ row) => {
    const before = ids.get(key);
    if (before !== undefined) put(before, "", GONE); // created again under the same name
    put(fresh[row], world.nodes.has(added.on[row]) ? added.on[row] : "", added.pods.state[row]);
  });
  for (const key of new Set([...Object.keys(nodes), ...Object.keys(gated), ...deleting])) {
    const was = world.pods.get(ids.get(key) ?? -1);
    if (!was || left.has(key)) continue;
    const bound = nodes[key] ?? (was.node || was.state === BOUND);
    const closed = gated[key] ?? was.state === GATED;
    const node = nodes[key] ?? was.node;
    let state = bound ? BOUND : closed ? GATED : PENDING;
    if (deleting.includes(key) || was.state === DELETING) state = DELETING;
    put(was.id, world.nodes.has(node) ? node : "", state);
  }
  const health = Object.entries(ready).flatMap(([name, conditions]) => {
    const was = world.nodes.get(name);
    const now = was && { ...was, ready: conditions && !was.taints.some((taint) => BROKEN.test(taint)) };
    return now && now.ready !== was.ready ? [{ at: moment, name, now, was }] : [];
  });
  const nominations = [...Object.entries(nominated), ...gone.map((/** @type {string} */ key) => [key, ""])]
    .map(([pod, now]) => ({ at: moment, pod, now, was: world.nominated.get(pod) ?? "" }))
    .filter(({ now, was }) => now !== was);
  world.add({
    from: world.to,
    to: moment,
    end: moment,
    total: 0,
    pods: { ...added.pods, id: fresh },
    places,
    nodes: health,
    nominated: nominations,
    cycles: { number: [], at: [], pod: [] },
    instants: { at: [], t: [] },
  });
  const moved = world.go(moment);
  world.forgetPast();
  return moved;
}
