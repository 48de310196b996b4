import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, followPod } from "../../static/js/socket.js";

// Replaces the WebSocket of the browser; the test acts as the server.
class FakeSocket {
  static OPEN = 1;
  static opened = [];
  readyState = 1;
  constructor(address) {
    this.address = new URL(address);
    FakeSocket.opened.push(this);
  }
}

function inBrowser(t) {
  FakeSocket.opened = [];
  const page = { WebSocket: FakeSocket, location: { href: "http://host/runs/7/", protocol: "http:" } };
  page.document = { querySelector: () => null };
  Object.assign(globalThis, page);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  return () => FakeSocket.opened.at(-1);
}

const says = (socket, message) => socket.onmessage({ data: JSON.stringify(message) });
const events = (...seqs) => ({ events: seqs.map((seq) => ({ seq, type: "bind" })) });

test("the events of a pod arrive once and in order over reconnects", (t) => {
  const last = inBrowser(t);
  const seen = [];
  followPod("/ws/runs/7", "ns/p", 3, { onEvents: (fresh) => seen.push(...fresh.map((event) => event.seq)) });
  assert.equal(last().address.href, "ws://host/ws/runs/7?since=3&pod=ns%2Fp");
  says(last(), events(4, 5));
  last().onclose({ code: 1012 });
  t.mock.timers.tick(1000);
  assert.equal(last().address.searchParams.get("since"), "5");
  says(last(), events(5, 6));
  last().onclose({ code: 1006 });
  t.mock.timers.tick(1000);
  says(last(), { events: [{ seq: 7, type: "run.finished" }] });
  assert.deepEqual(seen, [4, 5, 6, 7]);
  last().onclose({ code: 1000 });
  t.mock.timers.tick(60000);
  assert.equal(FakeSocket.opened.length, 3);
});

test("a socket closed by the server is not reconnected", (t) => {
  for (const code of [1000, 4403]) {
    const last = inBrowser(t);
    let ended = 0;
    connect("/ws/runs/7/progress", { onMessage: () => false, onEnd: () => ended++ });
    says(last(), { error: "No." });
    last().onclose({ code });
    t.mock.timers.tick(60000);
    assert.equal(ended, 1);
    assert.equal(FakeSocket.opened.length, 1);
    t.mock.timers.reset();
  }
});
