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
