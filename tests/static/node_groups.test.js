import assert from "node:assert/strict";
import { test } from "node:test";
import * as grouping from "../../static/js/editor/node_groups.js";
import { maps } from "./helpers.js";

const { groups, resized, stemOf, unusedStem, ZONE } = grouping;

const node = (name, zone, more = {}) => ({
  kind: "Node",
  name,
  value: { kind: "Node", metadata: { name, labels: { [ZONE]: zone, "kubernetes.io/hostname": name } }, ...more },
});
const pod = { kind: "Pod", name: "p", value: { kind: "Pod", metadata: { name: "p" } } };
const three = [node("n-1", "a"), pod, node("n-2", "b"), node("n-3", "a")];
// The objects of the text after the changes.
function after(things, changes) {
  const gone = new Set(changes.filter((one) => one.remove).map((one) => one.thing));
  const now = things.map((thing, at) => changes.find((one) => one.thing === at && one.value)?.value ?? thing.value);
  return [...now.filter((_, at) => !gone.has(at)), ...changes.filter((one) => one.add).map((one) => one.add)];
}
const zones = (values) =>
  values.filter(({ kind }) => kind === "Node").map(({ metadata }) => `${metadata.name} ${metadata.labels?.[ZONE]}`);

test("nodes that differ only by name and zone are one group", () => {
  const [group, ...rest] = groups(three);
  assert.deepEqual(group.things, [0, 2, 3]);
  assert.deepEqual(group.zones, ["a", "b"]);
  assert.equal(grouping.title(group), "n-1 to n-3");
  assert.deepEqual(rest, []);
  const other = groups([...three, node("n-4", "a", { spec: { unschedulable: true } }), node("m-1", "a")]);
  maps(({ things }) => things, other, [[0, 2, 3], [4], [5]]);
  assert.equal(groups([node("gpu", "a"), node("cpu", "a")]).length, 2);
});

test("a group grows across its zones and shrinks from its end", () => {
  const [group] = groups(three);
  const six = after(three, resized(group, { count: 6, zones: ["a", "b", "c"] }, []));
  assert.deepEqual(zones(six), ["n-1 a", "n-2 b", "n-3 c", "n-4 a", "n-5 b", "n-6 c"]);
  assert.equal(six.at(-1).metadata.labels["kubernetes.io/hostname"], "n-6");
  assert.deepEqual(zones(after(three, resized(group, { count: 1 }, []))), ["n-1 a"]);
  assert.equal(zones(after(three, resized(group, { zones: [] }, [])))[1], "n-2 undefined");
});

test("existing names are skipped", () => {
  const [group] = groups(three);
  assert.deepEqual(zones(after(three, resized(group, { stem: "m-" }, ["m-2"]))), ["m-1 a", "m-3 b", "m-4 a"]);
  assert.deepEqual(zones(after(three, resized(group, { count: 4 }, ["n-4"]))), ["n-1 a", "n-2 b", "n-3 a", "n-5 b"]);
});

test("a change of a group applies to each node", () => {
  const [group] = groups(three);
  const changes = grouping.edited(group, (value) => ({ ...value, spec: { unschedulable: true } }));
  maps(({ thing }) => thing, changes, [0, 2, 3]);
  assert.ok(changes.every(({ value }) => value.spec.unschedulable));
});

test("a group is copied with other names, in the same zones", () => {
  const [group] = groups(three);
  const stem = unusedStem(group.stem, ["n-1", "n-2", "n-3"]);
  assert.equal(stem, "n2-");
  const added = after([], grouping.copied(group, stem));
  assert.deepEqual(zones(added), ["n2-1 a", "n2-2 b", "n2-3 a"]);
  assert.equal(added[0].metadata.labels["kubernetes.io/hostname"], "n2-1");
  assert.equal(unusedStem("gpu", ["gpu"]), "gpu-");
});

test("common prefixes", () => {
  assert.equal(stemOf("n-12"), "n-");
  assert.equal(stemOf("gpu"), "gpu");
});
