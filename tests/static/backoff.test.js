import assert from "node:assert/strict";
import { test } from "node:test";
import { afterClose } from "../../static/js/backoff.js";

test("a finished or forbidden run is not reconnected", () => {
  assert.deepEqual(afterClose(1000, "", 0, 0.5), { wait: null, says: "" });
  assert.deepEqual(afterClose(4404, "There is no run 7.", 0, 0.5), { wait: null, says: "There is no run 7." });
  assert.match(afterClose(4403, "", 0, 0.5).says, /Live updates of this run have ended/);
});

test("every other close is retried, with growing delays up to half a minute", () => {
  for (const code of [1001, 1005, 1006, 1011, 1012, 1013]) {
    let before = 0;
    for (let tries = 0; tries < 6; tries++) {
      const { wait } = afterClose(code, "", tries, 1);
      assert(wait > before || wait === 30000);
      before = wait;
    }
    assert.equal(afterClose(code, "", 1000, 1).wait, 30000);
  }
});

test("clients that were disconnected together reconnect at different times", () => {
  const waits = [0, 0.25, 0.5, 0.75, 1].map((dice) => afterClose(1006, "", 3, dice).wait);
  assert.deepEqual(waits, [1000, 1250, 1500, 1750, 2000]);
});

test("a message appears if the connection is not restored at once", () => {
  assert.equal(afterClose(1006, "", 0, 1).says, "");
  assert.match(afterClose(1006, "", 3, 1).says, /^The connection to the server was lost\. Reconnecting in 2 s/);
  assert.match(afterClose(1011, "", 1, 1).says, /^The server cannot read this run now\./);
  const crowded = afterClose(1013, "Too many people are here.", 0, 1);
  assert.match(crowded.says, /^Too many people are here\. Reconnecting in 4 s/);
  assert(crowded.wait > afterClose(1006, "", 0, 1).wait);
});
