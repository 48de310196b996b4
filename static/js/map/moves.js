// Steps through the changes at one instant of a run in virtual time: events that change a pod's or a node's state.
const PAGE = 300;
const MOVES = new Set([
  "queue.moved",
  "pod.created",
  "pod.updated",
  "pod.nominated",
  "permit.waiting",
  "permit.rejected",
  "bind.failed",
  "pod.bound",
  "pod.evicted",
  "eviction.timed",
  "eviction.cancelled",
  "pod.deleted",
  "pod.skipped",
  "node.changed",
  "object.changed",
  "scenario.step",
  "cycle.finished",
]);

export class MoveSteps {
  constructor(source) {
    this.source = source;
    this.pages = new Map();
  }

  async page(number) {
    const known = this.pages.get(number);
    if (known) return known;
    const { events } = await this.source.events(number * PAGE, PAGE);
    if (events.length === PAGE) this.pages.set(number, events);
    if (this.pages.size > 12) this.pages.delete(this.pages.keys().next().value);
    return events;
  }

  // Returns the next change after event `seq`, or the last one before it; null beyond the ends.
  async next(seq, by, end) {
    for (
      let number = Math.max(0, Math.floor((by > 0 ? seq : seq - 2) / PAGE));
      number >= 0 && number * PAGE <= end;
      number += by
    ) {
      const events = (await this.page(number)).filter(({ type }) => MOVES.has(type));
      const found = by > 0 ? events.find((event) => event.seq > seq) : events.findLast((event) => event.seq < seq);
      if (found) {
        this.last = found;
        return found;
      }
    }
    return null;
  }

  // Returns the event with a number.
  async at(seq) {
    if (this.last?.seq === seq) return this.last;
    const { events } = await this.source.events(seq - 1, 1);
    return events[0];
  }
}

// Describes an event in a few words.
export function describe({ type, pod, data }) {
  const who = pod || data.object || data.name || "";
  const how = {
    "queue.moved": () => `${data.from || "new"} → ${data.to}${data.event ? ` (${data.event})` : ""}`,
    "pod.bound": () => `is bound to ${data.node}`,
    "pod.evicted": () => `is evicted from ${data.node}${data.by ? ` for ${data.by}` : ""}`,
    "pod.deleted": () => `is deleted${data.reason ? ` (${data.reason})` : ""}`,
    "pod.nominated": () => (data.node ? `is nominated to ${data.node}` : "is no longer nominated"),
    "node.changed": () => `node ${data.change}${data.what ? `: ${data.what.map(({ text }) => text).join(", ")}` : ""}`,
    "cycle.finished": () => `its cycle ends: ${data.result}`,
    "scenario.step": () => `scenario: ${data.operation} ${data.object ?? ""}`,
  };
  return `${who} ${how[type]?.() ?? type.replace(".", " ")}`.trim();
}
