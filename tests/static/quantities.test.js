import assert from "node:assert/strict";
import { test } from "node:test";
import { amount, blocks, resourceName, scarceResource } from "../../static/js/map/quantities.js";

test("formatted quantities", () => {
  assert.equal(amount(250, "cpu"), "0.25");
  assert.equal(amount(32_000, "cpu"), "32");
  assert.equal(amount(8 * 2 ** 30, "memory"), "8Gi");
  assert.equal(amount(1.5 * 2 ** 20, "ephemeral-storage"), "1.5Mi");
  assert.equal(amount(0, "memory"), "0");
  assert.equal(amount(4, "nvidia.com/gpu"), "4");
  assert.equal(resourceName("nvidia.com/gpu"), "gpu");
});

test("blocks are stacked", () => {
  const pods = [{ requests: { cpu: 1000 } }, { requests: {} }, { requests: { cpu: 500 } }];
  assert.deepEqual(blocks(pods, "cpu", 2000), [
    [0, 0.5],
    [0.5, 0.5],
    [0.5, 0.75],
  ]);
  assert.deepEqual(blocks(pods, "pods", 4), [
    [0, 0.25],
    [0.25, 0.5],
    [0.5, 0.75],
  ]);
  assert.ok(blocks(pods, "cpu", 0).at(-1)[1] > 1, "requested from a node without the resource");
  assert.deepEqual(blocks([], "cpu", 2000), []);
});

test("pods lack the resource that the fewest nodes have free", () => {
  const allocatable = (cpu, gpu) => ({ allocatable: { cpu, ...(gpu && { gpu }) } });
  const world = {
    nodes: new Map([
      ["a", allocatable(4000)],
      ["b", allocatable(4000)],
      ["g", allocatable(1000, 8)],
    ]),
    requested: (node, name) => (node === "a" && name === "cpu" ? 4000 : 0),
  };
  const requests = { cpu: 2000, gpu: 2, memory: 0 };
  assert.equal(scarceResource(world, [{ requests }]), "gpu");
  assert.equal(scarceResource(world, [{ requests }], ["g"]), "cpu", "the nearest node has GPUs, but not the cpu");
  assert.equal(scarceResource(world, [{ requests: { cpu: 1 } }]), "cpu");
  assert.equal(scarceResource(world, []), "");
});
