// @ts-check
// Groups nodes by a label or role; by pool and zone by default.

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
const PAIR = ","; // between the two labels of a key; label keys have no comma
const MOST_VALUES = 1000; // maximum number of groups
const MOST_GROUPS = 60; // maximum number of groups of a default grouping

/** Compares names in natural order: node-9 before node-10. */
export const natural = new Intl.Collator("en", { numeric: true }).compare;

/**
 * Return the value of a node for a grouping key: a label, two of them, or its roles; "" for none.
 * @param {Node} node @param {string} key @returns {string}
 */
export function valueIn(node, key) {
  if (key === BY_NOTHING) return "";
  if (key.includes(PAIR)) {
    const values = key.split(PAIR).map((one) => valueIn(node, one));
    return values.some(Boolean) ? values.map((value) => value || "none").join(" · ") : "";
  }
  if (key !== BY_ROLE) return node.labels[key] ?? "";
  const roles = Object.keys(node.labels).filter((label) => label.startsWith(ROLE));
  return roles.map((label) => label.slice(ROLE.length)).join(", ") || node.labels["kubernetes.io/role"] || "worker";
}

/**
 * Return the labels that split the nodes: [key, number of groups]. A label that says the same as another one is not
 * among them, nor the name of the host. First comes a pool with the zone, if both are there.
 * @param {Iterable<Node>} nodes @returns {[string, number][]}
 */
export function choices(nodes) {
  const all = [...nodes];
  const keys = new Set(all.flatMap(({ labels }) => Object.keys(labels)));
  const rank = (/** @type {string} */ key) => [...ZONES, ...POOLS].indexOf(key) + 1 || Infinity;
  const labels = [...keys].filter((key) => !key.startsWith(ROLE) && lastPart(key) !== "hostname");
  /** @type {{ key: string, values: string[], size: number }[]} */
  const found = [];
  const add = (/** @type {string} */ key) => {
    const values = all.map((node) => valueIn(node, key));
    const { size } = new Set(values);
    const splits = size > 1 && size <= MOST_VALUES && (size < all.length || all.length <= 6);
    if (splits && !found.some((other) => repeats({ key, values }, other))) found.push({ key, values, size });
  };
  for (const key of labels.sort((a, b) => rank(a) - rank(b) || natural(a, b))) add(key);
  const named = (/** @type {string[]} */ keys) => found.find(({ key }) => keys.includes(key));
  const [pool, zone] = [named(POOLS), named(ZONES)];
  found.sort((a, b) => natural(a.key, b.key));
  add(BY_ROLE);
  /** @type {[string, number][]} */
  const offered = found.map(({ key, size }) => [key, size]);
  if (!pool || !zone) return offered;
  const both = pool.key + PAIR + zone.key;
  const { size } = new Set(all.map((node) => valueIn(node, both)));
  return size > Math.max(pool.size, zone.size) && size <= all.length / 2 ? [[both, size], ...offered] : offered;
}

/**
 * Whether a label says the same as another one: on all nodes, or where it is set if both have the same last part, as
 * the zones of storage drivers.
 * @param {{ key: string, values: string[] }} label @param {{ key: string, values: string[] }} other
 */
function repeats(label, other) {
  const alike = lastPart(label.key) === lastPart(other.key);
  return label.values.every((value, at) => value === other.values[at] || (alike && !value));
}

/** @param {string} key */
const lastPart = (key) => key.slice(key.lastIndexOf("/") + 1);

/**
 * Return the default grouping: pool and zone, else zone, pool, instance type, role, else the label with the fewest
 * groups.
 * @param {[string, number][]} offered
 */
export function usual(offered) {
  const few = offered.filter(([, count]) => count <= MOST_GROUPS);
  const sizes = new Map(few);
  const known = [few.find(([key]) => key.includes(PAIR))?.[0], ...ZONES, ...POOLS, BY_ROLE].find(
    (key) => key && sizes.has(key),
  );
  return known ?? few.sort((a, b) => a[1] - b[1])[0]?.[0] ?? BY_NOTHING;
}

/**
 * Return the short name of a label: the part after the slash, or the whole key if that part is too short.
 * @param {string} key @returns {string}
 */
export function called(key) {
  if (key === BY_NOTHING) return "nothing";
  if (key.includes(PAIR)) return key.split(PAIR).map(called).join(" and ");
  const last = lastPart(key);
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
 * @param {Iterable<Node>} nodes @param {string} key
 * @returns {{ name: string, nodes: string[], common?: { suffix: string, prefix: string } }[]}
 */
export function grouped(nodes, key) {
  return [...Map.groupBy(nodes, (node) => valueIn(node, key))]
    .sort(([a], [b]) => natural(a, b))
    .map(([name, members]) => ({
      name: name || (key === BY_NOTHING ? "all nodes" : `no ${called(key)}`),
      nodes: members.map((node) => node.name).sort(natural),
    }));
}
