// Name suggestions of forms, from the content of the text.
import { el } from "../dom.js";
import { get } from "./values.js";

const ALWAYS = {
  "node-labels": ["kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region"],
  "pod-labels": ["app"],
  "priority-classes": ["system-cluster-critical", "system-node-critical"],
  "access-modes": ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"],
};
const MOST = 200; // suggestions per list

// Returns {nodes, pods, deployments: names, datalists: elements for the inputs' `list` attributes}.
export function listed(things) {
  const of = (kind) => things.filter((thing) => thing.kind === kind && thing.name).map(({ name }) => name);
  const keys = (kind, path) =>
    things.filter((thing) => thing.kind === kind).flatMap((thing) => Object.keys(get(thing.value, path) ?? {}));
  const labels = ["metadata", "labels"];
  const lists = {
    nodes: of("Node"),
    names: things.map(({ name }) => name).filter(Boolean),
    claims: of("PersistentVolumeClaim"),
    volumes: of("PersistentVolume"),
    "storage-classes": of("StorageClass"),
    "priority-classes": of("PriorityClass"),
    "node-labels": keys("Node", labels),
    "pod-labels": [...keys("Pod", labels), ...keys("Deployment", ["spec", "template", ...labels])],
    "access-modes": [],
  };
  const datalists = Object.entries(lists).map(([id, found]) => {
    const all = [...new Set([...found, ...(ALWAYS[id] ?? [])])].slice(0, MOST);
    return el("datalist", { id }, ...all.map((value) => el("option", { value })));
  });
  return { nodes: lists.nodes, pods: of("Pod"), deployments: of("Deployment"), datalists };
}
