import assert from "node:assert/strict";
import { test } from "node:test";
import { brief, clusters, KINDS, latest, wordsOf } from "../../static/js/timeline/event_track.js";
import { maps, seeded } from "./helpers.js";

const mark = (t, kind = "taint", more = {}) => ({ kind, t, to: t, count: 1, texts: [`${kind} at ${t}`], ...more });

test("marks that would touch are merged", () => {
  const found = clusters([mark(0), mark(30), mark(10, "label"), mark(100)], (t) => t, 15);
  maps(({ left, right, count, kinds }) => `${left} to ${right}: ${count}, ${kinds.join(" ")}`, found, [
    "0 to 10: 2, taint,1 label,1",
    "30 to 30: 1, taint,1",
    "100 to 100: 1, taint,1",
  ]);
  assert.deepEqual(found[0].texts, ["taint at 0", "label at 10"]);
  assert.deepEqual([found[0].t, found[0].to], [0, 10]);
});

test("drawn marks do not touch, and none is lost", () => {
  const random = seeded(3);
  const kinds = Object.keys(KINDS);
  for (const [some, room] of [
    [500, 15],
    [40, 3],
    [0, 15],
  ]) {
    const marks = Array.from({ length: some }, () => {
      const t = random(2000);
      const count = 1 + random(4);
      return mark(t, kinds[random(kinds.length)], { to: t + (count > 1 ? random(9) : 0), count });
    });
    const found = clusters(marks, (t) => t / 2, room);
    const total = (counts) => counts.reduce((sum, count) => sum + count, 0);
    const all = (some) => total(some.map(({ count }) => count));
    assert.equal(all(found), all(marks));
    found.forEach(({ left, right, kinds: counted, count }, index) => {
      assert.ok(right >= left);
      assert.ok(index === 0 || left - found[index - 1].right >= room);
      assert.equal(total(counted.map(([, number]) => number)), count);
    });
  }
});

test("text of a mark", () => {
  assert.equal(wordsOf(mark(65)), "1:05: taint at 65");
  const two = { t: 60, to: 65, count: 2, kinds: Object.entries({ taint: 1, label: 1 }), texts: ["a", "b"] };
  assert.equal(wordsOf(two), "1:00 to 1:05: 1 taint changed, 1 label changed: a; b");
  const many = { kind: "preempted", t: 60, to: 60, count: 8062, texts: ["a", "b", "c"] };
  assert.equal(wordsOf(many), "1:00: 8,062 pods preempted: a; b; c; …");
});

test("the latest mark up to a time", () => {
  const marks = [mark(10), mark(10, "label"), mark(5), mark(20)];
  assert.equal(latest(marks, 4), null);
  assert.equal(latest(marks, 5)?.t, 5);
  assert.equal(latest(marks, 19.9)?.kind, "label");
  assert.equal(latest([], 5), null);
});

test("short counts", () => {
  const shown = { 1: "1", 87: "87", 999: "999", 1000: "1.0k", 1249: "1.2k", 9949: "9.9k", 9950: "10k", 31400: "31k" };
  for (const [count, text] of Object.entries(shown)) assert.equal(brief(Number(count)), text);
});
