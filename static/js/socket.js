// A run's events, every one once and in order: connects, resumes after `since` when cut off, ends with the run.
import { afterClose } from "./backoff.js";

const SETTLED = 1500; // milliseconds after which a socket that is still open counts as a success

// Says what is going on where the page has a place for it.
function tell(text) {
  const place = document.querySelector("[data-link]");
  if (place && place.textContent !== text) place.textContent = text;
}

export function follow(path, since, { pod = "", onEvents, onEnd, onState = tell }) {
  let seen = since;
  let tries = 0; // in a row, without an event
  let over = false;

  function end() {
    if (over) return;
    over = true;
    onEnd?.();
  }

  function connect() {
    const address = new URL(path, location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    address.searchParams.set("since", seen);
    if (pod) address.searchParams.set("pod", pod);
    const socket = new WebSocket(address);
    let said = "";
    socket.onmessage = ({ data }) => {
      const { events = [], error } = JSON.parse(data);
      if (error) {
        said = error;
        return;
      }
      const fresh = events.filter((event) => event.seq > seen);
      if (!fresh.length) return;
      tries = 0;
      onState("");
      seen = fresh.at(-1).seq;
      onEvents(fresh);
      if (fresh.at(-1).type === "run.finished") end();
    };
    socket.onopen = () => setTimeout(settled, SETTLED);
    function settled() {
      if (socket.readyState !== WebSocket.OPEN) return; // let in and turned away
      tries = 0;
      onState("");
    }
    socket.onclose = ({ code }) => {
      if (over) return;
      const { wait, says } = afterClose(code, said, tries, Math.random());
      onState(says);
      if (wait === null) {
        end();
        return;
      }
      tries += 1;
      setTimeout(connect, wait);
    };
  }
  connect();
}
