import assert from "node:assert/strict";
import { test } from "node:test";
import {
  BY_NOTHING,
  BY_ROLE,
  called,
  choices,
  grouped,
  keyNames,
  usual,
  valueIn,
} from "../../static/js/map/grouping.js";

const ZONE = "topology.kubernetes.io/zone";
const node = (name, labels = {}) => ({ name, labels: { "kubernetes.io/hostname": name, os: "linux", ...labels } });
const many = (count, labels) => Array.from({ length: count }, (_, i) => node(`n${i}`, labels(i)));

test("by zone if there are zones", () => {
  const offered = choices(many(9, (i) => ({ [ZONE]: `z${i % 3}`, pool: `p${i % 2}` })));
  assert.deepEqual(Object.fromEntries(offered), { pool: 2, [ZONE]: 3 });
  assert.equal(usual(offered), ZONE);
});

test("by pool and zone if there are both, unless nearly every node would be a group", () => {
  const both = `pool,${ZONE}`;
  const nodes = many(12, (i) => ({ [ZONE]: `z${i % 3}`, pool: `p${i % 2}` }));
  const offered = choices(nodes);
  assert.deepEqual(Object.fromEntries(offered), { [both]: 6, pool: 2, [ZONE]: 3 });
  assert.equal(usual(offered), both);
  assert.deepEqual(
    grouped(nodes, both).map(({ name }) => name),
    ["p0 · z0", "p0 · z1", "p0 · z2", "p1 · z0", "p1 · z1", "p1 · z2"],
  );
  assert.equal(keyNames([both]).get(both), "pool and zone");
  assert.equal(valueIn(node("n", { [ZONE]: "z" }), both), "none · z");
  assert.equal(valueIn(node("n"), both), "");
  const perZone = choices(many(12, (i) => ({ [ZONE]: `z${i % 3}`, pool: `z${i % 3}-p${i % 2}` })));
  assert.equal(usual(perZone), ZONE, "pools of one zone each");
});

test("labels that repeat another one are not offered", () => {
  const zones = ["failure-domain.beta.kubernetes.io/zone", "topology.ebs.csi.aws.com/zone"];
  const nodes = many(9, (i) => ({
    [ZONE]: `z${i % 3}`,
    [zones[0]]: `z${i % 3}`,
    ...(i % 2 && { [zones[1]]: `z${i % 3}` }),
    "beta.kubernetes.io/arch": `a${i % 2}`,
    "kubernetes.io/arch": `a${i % 2}`,
    "example.com/zone": `other${i % 2}`,
  }));
  const keys = choices(nodes).map(([key]) => key);
  assert.deepEqual(keys, ["beta.kubernetes.io/arch", "example.com/zone", ZONE]);
  assert.deepEqual(choices(many(5, () => ({}))), [], "the name of the host");
});

test("otherwise by pool, instance type, role, or a label that splits them", () => {
  const type = "node.kubernetes.io/instance-type";
  assert.equal(usual(choices(many(9, (i) => ({ [ZONE]: "one", [type]: `m${i % 4}`, pool: `p${i % 2}` })))), "pool");
  assert.equal(usual(choices(many(9, (i) => ({ [type]: `m${i % 4}` })))), type);
  const roles = many(9, (i) => (i ? {} : { "node-role.kubernetes.io/control-plane": "" }));
  assert.equal(usual(choices(roles)), BY_ROLE);
  assert.equal(valueIn(roles[0], BY_ROLE), "control-plane");
  assert.equal(valueIn(roles[1], BY_ROLE), "worker");
  assert.equal(usual(choices(many(9, (i) => ({ rack: `r${i % 4}`, half: `h${i % 2}` })))), "half");
  assert.equal(usual(choices(many(9, () => ({})))), BY_NOTHING);
});

test("host names and labels with hundreds of values do not form groups", () => {
  const offered = choices(many(200, (i) => ({ serial: `s${i >> 1}` })));
  assert.deepEqual(offered, [["serial", 100]]);
  assert.equal(usual(offered), BY_NOTHING);
});

test("groups and nodes are in natural order", () => {
  const nodes = [node("n10", { rack: "r10" }), node("n9", { rack: "r9" }), node("n2", { rack: "r9" }), node("n1")];
  assert.deepEqual(grouped(nodes, "rack"), [
    { name: "no rack", nodes: ["n1"] },
    { name: "r9", nodes: ["n2", "n9"] },
    { name: "r10", nodes: ["n10"] },
  ]);
  assert.deepEqual(grouped(nodes, BY_NOTHING), [{ name: "all nodes", nodes: ["n1", "n2", "n9", "n10"] }]);
  assert.deepEqual([called(ZONE), called("pool"), called("a.b/c")], ["zone", "pool", "a.b/c"]);
});

test("two labels with the same last part have different names", () => {
  const old = "failure-domain.beta.kubernetes.io/zone";
  assert.deepEqual([...keyNames([ZONE, old, "pool", BY_ROLE]).values()], [ZONE, old, "pool", "role"]);
});
