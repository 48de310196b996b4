// @ts-check
// Groups nodes by a label or role; by zone by default.

/** @typedef {import("./cluster_model.js").Node} Node */

const ZONES = ["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"];
// Other labels that are good defaults for grouping, best first. They include the node-pool labels of cloud providers.
const POOLS = [
  "pool",
  "node-pool",
  "nodepool",
  "cloud.google.com/gke-nodepool",
  "eks.amazonaws.com/nodegroup",
  "alpha.eksctl.io/nodegroup-name",
  "kubernetes.azure.com/agentpool",
  "agentpool",
  "karpenter.sh/nodepool",
  "node.kubernetes.io/instance-type",
  "beta.kubernetes.io/instance-type",
];
const ROLE = "node-role.kubernetes.io/";
export const BY_ROLE = "role";
export const BY_NOTHING = "";
const MOST_VALUES = 1000; // maximum number of groups
const MOST_GROUPS = 60; // maximum number of groups of a default grouping

/** Compares names in natural order: node-9 before node-10. */
export const natural = new Intl.Collator("en", { numeric: true }).compare;

/**
 * Return the value of a node for a grouping key: a label or its roles; "" for none.
 * @param {Node} node @param {string} key
 */
export function valueIn(node, key) {
  if (key === BY_NOTHING) return "";
  if (key !== BY_ROLE) return node.labels[key] ?? "";
  const roles = Object.keys(node.labels).filter((label) => label.startsWith(ROLE));
  return roles.map((label) => label.slice(ROLE.length)).join(", ") || node.labels["kubernetes.io/role"] || "worker";
}

/**
 * Return the labels that split the nodes: [key, number of groups].
 * @param {Iterable<Node>} nodes @returns {[string, number][]}
 */
export function choices(nodes) {
  const all = [...nodes];
  const keys = new Set(all.flatMap(({ labels }) => Object.keys(labels)));
  /** @type {[string, number][]} */
  const found = [];
  for (const key of [BY_ROLE, ...[...keys].filter((label) => !label.startsWith(ROLE)).sort(natural)]) {
    const values = new Set(all.map((node) => valueIn(node, key)));
    if (values.size > 1 && values.size <= MOST_VALUES && (values.size < all.length || all.length <= 6))
      found.push([key, values.size]);
  }
  return found;
}

/**
 * Return the default grouping: zone, else pool, instance type, role, else the label with the fewest groups.
 * @param {[string, number][]} offered
 */
export function usual(offered) {
  const sizes = new Map(offered);
  const known = [...ZONES, ...POOLS, BY_ROLE].find((key) => (sizes.get(key) ?? MOST_GROUPS + 1) <= MOST_GROUPS);
  if (known) return known;
  const few = offered.filter(([, count]) => count <= MOST_GROUPS).sort((a, b) => a[1] - b[1]);
  return few.find(([key]) => key !== "kubernetes.io/hostname")?.[0] ?? BY_NOTHING;
}

/**
 * Return the short name of a label: the part after the slash, or the whole key if that part is too short.
 * @param {string} key
 */
export function called(key) {
  if (key === BY_NOTHING) return "nothing";
  const last = key.slice(key.lastIndexOf("/") + 1);
  return last.length > 2 ? last : key;
}

/**
 * Return the name of each grouping key: short, or the whole key if two short names are equal.
 * @param {string[]} keys @returns {Map<string, string>}
 */
export function keyNames(keys) {
  const short = (/** @type {string} */ key) => (key === BY_ROLE ? "role" : called(key));
  const names = keys.map(short);
  return new Map(
    keys.map((key, index) => [key, names.filter((name) => name === names[index]).length > 1 ? key : names[index]]),
  );
}

/**
 * Return the groups sorted by name, with their nodes sorted by name.
 * @param {Iterable<Node>} nodes @param {string} key @returns {{ name: string, nodes: string[] }[]}
 */
export function grouped(nodes, key) {
  return [...Map.groupBy(nodes, (node) => valueIn(node, key))]
    .sort(([a], [b]) => natural(a, b))
    .map(([name, members]) => ({
      name: name || (key === BY_NOTHING ? "all nodes" : `no ${called(key)}`),
      nodes: members.map((node) => node.name).sort(natural),
    }));
}
