// @ts-check
// Decides after a websocket closes whether and when to reconnect, and what to show in the meantime.

const FIRST = 250;
const CROWDED = 4000; // the server has too many connections: wait longer than after a restart
const LONGEST = 30000;

/**
 * Return what to do after a run's socket closes (docs/websocket.md).
 * @param {number} code @param {string} message the server's last message, or ""
 * @param {number} tries number of failed attempts in a row
 * @param {number} dice random number from 0 to 1, so that many pages do not reconnect at the same time
 * @returns {{wait: number | null, says: string}} milliseconds, null for no reconnection; message to show, or ""
 */
export function afterClose(code, message, tries, dice) {
  if (code === 1000) return { wait: null, says: "" };
  if (code >= 4400 && code < 4500)
    return { wait: null, says: message || "Live updates of this run have ended. Reload the page." };
  const crowded = code === 1013;
  const wait = Math.min(LONGEST, (crowded ? CROWDED : FIRST) * 2 ** Math.min(tries, 20)) * (0.5 + dice / 2);
  if (!tries && !crowded) return { wait, says: "" }; // the first attempt usually succeeds at once
  const seconds = Math.max(1, Math.round(wait / 1000));
  return { wait, says: `${because(code, message)} Reconnecting in ${seconds} s. No events are lost.` };
}

/** @param {number} code @param {string} message */
function because(code, message) {
  if (code === 1013) return message || "The server has too many open websockets.";
  if (code === 1011) return "The server cannot read this run now.";
  return "The connection to the server was lost.";
}
