import assert from "node:assert/strict";
import { test } from "node:test";
import { brief, clusters, KINDS, latest, wordsOf } from "../../static/js/timeline/event_track.js";

const mark = (t, kind = "taint", more = {}) => ({ kind, t, to: t, count: 1, texts: [`${kind} at ${t}`], ...more });

test("marks that would touch are drawn as one", () => {
  const found = clusters([mark(0), mark(30), mark(10, "label"), mark(100)], (t) => t, 15);
  assert.deepEqual(
    found.map(({ left, right, count, kinds }) => [left, right, count, kinds]),
    [
      [
        0,
        10,
        2,
        [
          ["taint", 1],
          ["label", 1],
        ],
      ],
      [30, 30, 1, [["taint", 1]]],
      [100, 100, 1, [["taint", 1]]],
    ],
  );
  assert.deepEqual(found[0].texts, ["taint at 0", "label at 10"]);
  assert.deepEqual([found[0].t, found[0].to], [0, 10]);
});

test("no two of what is drawn touch, and none is lost", () => {
  let seed = 3;
  const random = (below) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return Math.floor((seed / 2147483648) * below);
  };
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
    const total = (all) => all.reduce((sum, { count }) => sum + count, 0);
    assert.equal(total(found), total(marks));
    found.forEach(({ left, right, kinds: counted, count }, index) => {
      assert.ok(right >= left);
      assert.ok(index === 0 || left - found[index - 1].right >= room);
      assert.equal(
        count,
        counted.reduce((sum, [, number]) => sum + number, 0),
      );
    });
  }
});

test("what a mark says", () => {
  assert.equal(wordsOf(mark(65)), "1:05: taint at 65");
  const two = {
    t: 60,
    to: 65,
    count: 2,
    kinds: [
      ["taint", 1],
      ["label", 1],
    ],
    texts: ["a", "b"],
  };
  assert.equal(wordsOf(two), "1:00 to 1:05: 1 taint changed, 1 label changed: a; b");
  const many = { kind: "preempted", t: 60, to: 60, count: 8062, texts: ["a", "b", "c"] };
  assert.equal(wordsOf(many), "1:00: 8,062 pods preempted: a; b; c; …");
});

test("the latest mark until a moment", () => {
  const marks = [mark(10), mark(10, "label"), mark(5), mark(20)];
  assert.equal(latest(marks, 4), null);
  assert.equal(latest(marks, 5)?.t, 5);
  assert.equal(latest(marks, 19.9)?.kind, "label");
  assert.equal(latest([], 5), null);
});

test("counts where there is little room", () => {
  assert.deepEqual([1, 87, 999, 1000, 1249, 9949, 9950, 31_400].map(brief), [
    "1",
    "87",
    "999",
    "1.0k",
    "1.2k",
    "9.9k",
    "10k",
    "31k",
  ]);
});
