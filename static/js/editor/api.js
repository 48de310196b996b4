// Requests of the scenario editor. Of several analyses only the latest counts; changes are sent one after another.
const LATER = 250; // delay in milliseconds after the last key
const LONG = 1000; // milliseconds after which a pending answer is indicated
// Identifies the page, so that the server analyses only its newest text.
const PAGE = `${Date.now()}-${Math.random().toString(36).slice(2)}`;

export class Asking {
  // `places`: URLs by name. `onAnalysis`: called with each analysis and its text. `failed`: called with an error message.
  // `waits`: called when an answer is slow.
  constructor({ places, token, onAnalysis, failed, waits }) {
    Object.assign(this, { places, token, onAnalysis, failed, waits });
    this.timer = 0;
    this.under = null; // AbortController of the pending analysis
    this.line = Promise.resolve(); // queue of changes
  }

  // Analyses `text()` after a short delay.
  soon(text) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.read(text()).catch(() => {}), LATER);
  }

  // Analyses a text at once. Rejects if a later analysis starts before the answer arrives.
  async read(text) {
    clearTimeout(this.timer);
    this.under?.abort();
    const mine = new AbortController();
    this.under = mine;
    const long = setTimeout(() => this.under === mine && this.waits(), LONG);
    try {
      const reading = await this.post("read", text, "text/plain", mine.signal);
      if (this.under !== mine) throw new DOMException("later", "AbortError");
      this.under = null;
      this.onAnalysis(reading, text);
      return reading;
    } catch (error) {
      if (error.name !== "AbortError") this.failed(error.message);
      if (error.again && this.under === mine)
        this.timer = setTimeout(() => this.read(text).catch(() => {}), error.again);
      throw error;
    } finally {
      clearTimeout(long);
    }
  }

  // Runs a function after all earlier changes.
  next(doing) {
    const done = this.line.then(doing);
    this.line = done.catch(() => {});
    return done;
  }

  send(place, body) {
    return this.post(place, JSON.stringify(body), "application/json");
  }

  async post(place, body, type, signal) {
    const headers = { "Content-Type": type, "X-CSRFToken": this.token, "X-Requested-With": "fetch", "X-Page": PAGE };
    const options = { method: "POST", body, headers, signal };
    const response = await fetch(this.places[place], options).catch((error) => {
      if (error.name === "AbortError") throw error;
      throw new Error("The server cannot be reached. Your text is kept in this browser.");
    });
    const found = await response.json().catch(() => ({}));
    if (response.ok) return found;
    if (response.status === 409) throw new DOMException(found.error, "AbortError");
    const problem = new Error(found.error || `The server returned an error (${response.status}). Try again.`);
    throw Object.assign(problem, { again: Number(response.headers.get("Retry-After")) * 1000 });
  }
}
