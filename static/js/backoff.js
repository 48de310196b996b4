// @ts-check
// A socket was cut off: whether to come back, after how long, and what to say meanwhile.

const FIRST = 250;
const CROWDED = 4000; // too many are there: their pages come back later than those of a server that was restarted
const LONGEST = 30000;

/**
 * What follows the close of a run's socket (docs/websocket.md).
 * @param {number} code
 * @param {string} said what the server said before, or ""
 * @param {number} tries how often in a row it was tried in vain before
 * @param {number} dice 0 to 1: a thousand pages that were cut off together must not come back together
 * @returns {{wait: number | null, says: string}} milliseconds, null where it is over; "" where there is nothing to say
 */
export function afterClose(code, said, tries, dice) {
  if (code === 1000) return { wait: null, says: "" };
  if (code >= 4400 && code < 4500)
    return { wait: null, says: said || "This run cannot be followed any longer. Reload the page." };
  const crowded = code === 1013;
  const wait = Math.min(LONGEST, (crowded ? CROWDED : FIRST) * 2 ** Math.min(tries, 20)) * (0.5 + dice / 2);
  if (!tries && !crowded) return { wait, says: "" }; // most often it is back at once
  const seconds = Math.max(1, Math.round(wait / 1000));
  return { wait, says: `${because(code, said)} Trying again in ${seconds} s; nothing is lost.` };
}

/**
 * @param {number} code
 * @param {string} said
 */
function because(code, said) {
  if (code === 1013) return said || "Too many people watch runs on this server now.";
  if (code === 1011) return "The server cannot read this run at present.";
  return "The connection to the server is cut off.";
}
