// @ts-check
// Formats resource quantities. The API uses millicores for cpu, bytes for memory and storage, and units for other
// resources.

/** @typedef {{ requests: Record<string, number> }} Requests of a pod */

const SHAPES = 20; // of requests that are compared, the most frequent ones
const UNITS = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];

/** Format a quantity: "1.5" cores, "3.2Gi", "4". @param {number} amount @param {string} resource */
export function amount(amount, resource) {
  if (resource === "cpu") return short(amount / 1000);
  if (resource !== "memory" && !resource.includes("storage") && !resource.startsWith("hugepages-"))
    return short(amount);
  let [value, unit] = [amount, 0];
  while (Math.abs(value) >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${short(value)}${UNITS[unit]}`;
}

/**
 * Format the use of a node: "1.5 of 4 cpu".
 * @param {import("./cluster_model.js").World} world @param {string} node @param {string} resource
 */
export function usageOf(world, node, resource) {
  const has = world.nodes.get(node)?.allocatable[resource] ?? 0;
  return `${amount(world.requested(node, resource), resource)} of ${amount(has, resource)} ${resourceName(resource)}`;
}

/** Format the requested quantity of a pod. @param {Requests} pod @param {string} resource */
export const requestOf = (pod, resource) => amount(requested(pod, resource), resource);

/** @param {Requests} pod @param {string} resource */
const requested = ({ requests }, resource) => (resource === "pods" ? 1 : (requests[resource] ?? 0));

/** @param {number} value */
const short = (value) =>
  value.toLocaleString("en", { maximumFractionDigits: Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0 });

/** Return a short resource name: "gpu" for "nvidia.com/gpu". @param {string} name */
export const resourceName = (name) => name.slice(name.lastIndexOf("/") + 1);

/**
 * Return the blocks of a node: [from, to] of each pod as a fraction of allocatable, lowest first.
 * @param {Requests[]} pods @param {string} resource @param {number} allocatable
 * @returns {[number, number][]}
 */
export function blocks(pods, resource, allocatable) {
  let sum = 0;
  return pods.map((pod) => {
    const from = sum / allocatable || 0;
    sum += requested(pod, resource);
    return [from, sum / allocatable || 0];
  });
}

/**
 * Return the resource that pods lack: the requested one that the fewest nodes have free, first among the nearest nodes.
 * @param {import("./cluster_model.js").World} world @param {Requests[]} pods
 * @param {string[]} [near] nodes that need the fewest changes @returns {string} "" if the pods request nothing
 */
export function scarceResource(world, pods, near = []) {
  const shapes = [...Map.groupBy(pods, ({ requests }) => requests)]
    .sort((a, b) => b[1].length - a[1].length)
    .slice(0, SHAPES);
  const names = new Set(shapes.flatMap(([requests]) => Object.keys(requests).filter((name) => requests[name] > 0)));
  const nearest = new Set(near);
  const found = [...names].map((name) => {
    let [fits, fitsNear, total] = [0, 0, 0];
    for (const [node, { allocatable }] of world.nodes) {
      const has = allocatable[name] ?? 0;
      total += has;
      const free = has - (has > 0 ? world.requested(node, name) : 0);
      for (const [requests, alike] of shapes)
        if (free >= (requests[name] ?? 0)) {
          fits += alike.length;
          if (nearest.has(node)) fitsNear += alike.length;
        }
    }
    const share = shapes.reduce((sum, [requests, alike]) => sum + (requests[name] ?? 0) * alike.length, 0) / total;
    return { name, fits, fitsNear, share };
  });
  found.sort((a, b) => a.fitsNear - b.fitsNear || a.fits - b.fits || b.share - a.share);
  return found[0]?.name ?? "";
}
