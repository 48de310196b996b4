// A run's events, every one once and in order: connects, resumes after `since` when cut off, ends with the run.
export function follow(path, since, { pod = "", onEvents, onEnd, onState = () => {} }) {
  let seen = since;
  let wait = 250;
  let over = false;

  function connect() {
    const address = new URL(path, location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    address.searchParams.set("since", seen);
    if (pod) address.searchParams.set("pod", pod);
    const socket = new WebSocket(address);
    socket.onmessage = ({ data }) => {
      const { events = [], error } = JSON.parse(data);
      if (error) {
        over = true;
        onState(error);
        return;
      }
      const fresh = events.filter((event) => event.seq > seen);
      if (!fresh.length) return;
      wait = 250;
      seen = fresh.at(-1).seq;
      onEvents(fresh);
      if (fresh.at(-1).type === "run.finished") {
        over = true;
        onEnd?.();
      }
    };
    socket.onopen = () => onState("");
    socket.onclose = ({ code }) => {
      if (code === 1000) over = true;
      if (over) {
        onEnd?.();
        onEnd = null;
        return;
      }
      onState("Reconnecting …");
      setTimeout(connect, wait);
      wait = Math.min(wait * 2, 8000);
    };
  }
  connect();
}
