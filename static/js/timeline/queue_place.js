// @ts-check
// The place of a pod in the queue of a single pass, from the run's progress.
import { counted } from "../format.js";
import { span } from "./clock.js";

const WINDOW_MS = 20_000; // of the measured speed
const LEAST_MS = 1_000; // a shorter time measures only the size of a batch

export class QueuePlace {
  /**
   * @param {number} ahead pods that are tried before it after `done` cycles
   * @param {number} done
   */
  constructor(ahead, done) {
    this.first = { ahead, done };
    this.ahead = ahead;
    this.speed = 0; // cycles per second, 0 if it is not known
    /** @type {{ done: number, at: number }[]} */
    this.seen = [];
  }

  /** Take over the progress of the run. @param {number} done cycles @param {number} at milliseconds on any clock */
  update(done, at) {
    this.ahead = Math.max(0, this.first.ahead - Math.max(0, done - this.first.done));
    this.seen.push({ done, at });
    while (this.seen.length > 2 && at - this.seen[1].at > WINDOW_MS) this.seen.shift();
    const [oldest] = this.seen;
    if (at - oldest.at >= LEAST_MS) this.speed = ((done - oldest.done) * 1000) / (at - oldest.at);
  }

  /** The estimated seconds until its cycle; null if no speed is known. */
  get seconds() {
    return this.speed > 0 ? this.ahead / this.speed : null;
  }

  get text() {
    if (!this.ahead) return "It is next.";
    const before = `${counted(this.ahead, "pod")} ${this.ahead === 1 ? "is" : "are"} tried before it.`;
    if (this.seconds === null) return before;
    return `${before} Its turn comes in about ${span(Math.max(1, Math.round(this.seconds)))}.`;
  }
}
