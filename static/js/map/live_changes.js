// @ts-check
// Changes of a live cluster (/clusters/N/map/?block=B) as a piece of the map's change stream.

/** @typedef {import("./cluster_model.js").World} World */

const [GONE, PENDING, BOUND] = [0, 1, 3];

/**
 * Apply changes to a cluster. Return the pods that moved, for View.changed.
 * @param {World} world @param {any} changes
 */
export function applyChanges(world, { added, gone, nodes, nominated }) {
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
    const node = world.nodes.has(added.on[row]) ? added.on[row] : "";
    put(fresh[row], node, node ? BOUND : PENDING);
  });
  for (const [key, name] of Object.entries(nodes)) {
    const id = ids.get(key);
    if (id !== undefined && !left.has(key)) put(id, world.nodes.has(name) ? name : "", name ? BOUND : PENDING);
  }
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
    nodes: [],
    nominated: nominations,
    cycles: { number: [], at: [], pod: [] },
    instants: { at: [], t: [] },
  });
  const moved = world.go(moment);
  world.forgetPast();
  return moved;
}
