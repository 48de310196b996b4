// @ts-check
// Formats resource quantities. The API uses millicores for cpu, bytes for memory and storage, and units for other
// resources.

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

/** @param {number} value */
const short = (value) =>
  value.toLocaleString("en", { maximumFractionDigits: Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0 });

/** Return a short resource name: "gpu" for "nvidia.com/gpu". @param {string} name */
export const resourceName = (name) => name.slice(name.lastIndexOf("/") + 1);

/**
 * Return the blocks of a node: [from, to] of each pod as a fraction of allocatable, lowest first.
 * @param {{ requests: Record<string, number> }[]} pods @param {string} resource @param {number} allocatable
 * @returns {[number, number][]}
 */
export function blocks(pods, resource, allocatable) {
  let sum = 0;
  return pods.map(({ requests }) => {
    const from = sum / allocatable || 0;
    sum += resource === "pods" ? 1 : (requests[resource] ?? 0);
    return [from, sum / allocatable || 0];
  });
}
