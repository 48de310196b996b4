// Websockets of pages: connect, and reconnect after an interruption (docs/websocket.md).
import { afterClose } from "./backoff.js";

const SETTLED = 1500; // milliseconds after which a socket that is still open counts as a success

// Shows the state of the connection where the page has a place for it.
function showState(text) {
  const place = document.querySelector("[data-link]");
  if (place && place.textContent !== text) place.textContent = text;
}

// Opens `path` with the query that `query()` returns at each attempt, and calls `onMessage` with each message.
// `onMessage` returns true for the last message. Calls `onEnd` once, when the socket will not be reopened.
export function connect(path, { query = () => ({}), onMessage, onEnd }) {
  let tries = 0; // attempts in a row without a message
  let over = false;

  function end() {
    if (over) return;
    over = true;
    onEnd?.();
  }

  function open() {
    const address = new URL(path, location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    for (const [name, value] of Object.entries(query())) address.searchParams.set(name, value);
    const socket = new WebSocket(address);
    let reason = "";
    function settle() {
      if (socket.readyState !== WebSocket.OPEN) return; // the server accepted and then rejected the connection
      tries = 0;
      showState("");
    }
    socket.onopen = () => setTimeout(settle, SETTLED);
    socket.onmessage = ({ data }) => {
      const message = JSON.parse(data);
      if (message.error) {
        reason = message.error;
        return;
      }
      settle();
      if (onMessage(message)) end();
    };
    socket.onclose = ({ code }) => {
      if (over) return;
      const { wait, says } = afterClose(code, reason, tries, Math.random());
      if (says || wait !== null) showState(says); // a live-class page already shows why the class is over
      if (wait === null) {
        end();
        return;
      }
      tries += 1;
      setTimeout(open, wait);
    };
  }
  open();
}

// Calls `onEvents` with the events of a pod and of its run after `since`, once and in order, until the run ends.
export function followPod(path, pod, since, { onEvents, onEnd }) {
  let seen = since;
  connect(path, {
    query: () => ({ since: seen, pod }),
    onMessage({ events }) {
      const fresh = events.filter((event) => event.seq > seen);
      if (!fresh.length) return false;
      seen = fresh.at(-1).seq;
      onEvents(fresh);
      return fresh.at(-1).type === "run.finished";
    },
    onEnd,
  });
}
