// @ts-check
// Nodes in groups: by any label that they share, by zone if there is nothing else to go by.

/** @typedef {import("./cluster_model.js").Node} Node */

const ZONES = ["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"];
// Further labels that split a cluster well, best first; a cloud's names of node pools among them.
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
const MOST_GROUPS = 60; // that are made without being asked for

/** Names as people sort them: node-9 before node-10. */
export const natural = new Intl.Collator("en", { numeric: true }).compare;

/**
 * The value of a node: of a label, or its roles; "" for none.
 * @param {Node} node @param {string} key
 */
export function valueIn(node, key) {
  if (key === BY_NOTHING) return "";
  if (key !== BY_ROLE) return node.labels[key] ?? "";
  const roles = Object.keys(node.labels).filter((label) => label.startsWith(ROLE));
  return roles.map((label) => label.slice(ROLE.length)).join(", ") || node.labels["kubernetes.io/role"] || "worker";
}

/**
 * What nodes can be grouped by: [key, how many groups], the labels that split them.
 * @param {Iterable<Node>} nodes
 * @returns {[string, number][]}
 */
export function choices(nodes) {
  const all = [...nodes];
  const keys = new Set(all.flatMap(({ labels }) => Object.keys(labels)));
  /** @type {[string, number][]} */
  const found = [];
  for (const key of [BY_ROLE, ...[...keys].filter((label) => !label.startsWith(ROLE)).sort(natural)]) {
    const values = new Set(all.map((node) => valueIn(node, key)));
    if (values.size > 1 && (values.size < all.length || all.length <= 6)) found.push([key, values.size]);
  }
  return found;
}

/** What to group by if nobody says: zone, else pool, instance type, role, else the label with the fewest groups.
 * @param {[string, number][]} offered */
export function usual(offered) {
  const sizes = new Map(offered);
  const known = [...ZONES, ...POOLS, BY_ROLE].find((key) => (sizes.get(key) ?? MOST_GROUPS + 1) <= MOST_GROUPS);
  if (known) return known;
  const few = offered.filter(([, count]) => count <= MOST_GROUPS).sort((a, b) => a[1] - b[1]);
  return few.find(([key]) => key !== "kubernetes.io/hostname")?.[0] ?? BY_NOTHING;
}

/** A label as it is called: the part after the slash; the whole where that says too little. @param {string} key */
export function called(key) {
  if (key === BY_NOTHING) return "nothing";
  const last = key.slice(key.lastIndexOf("/") + 1);
  return last.length > 2 ? last : key;
}

/**
 * The groups, by name; nodes within them by name.
 * @param {Iterable<Node>} nodes @param {string} key
 * @returns {{ name: string, nodes: string[] }[]}
 */
export function grouped(nodes, key) {
  /** @type {Map<string, string[]>} */
  const found = new Map();
  for (const node of nodes) {
    const value = valueIn(node, key);
    const group = found.get(value);
    if (group) group.push(node.name);
    else found.set(value, [node.name]);
  }
  return [...found]
    .sort(([a], [b]) => natural(a, b))
    .map(([name, members]) => ({
      name: name || (key === BY_NOTHING ? "all nodes" : `no ${called(key)}`),
      nodes: members.sort(natural),
    }));
}
