// What the server says of the text: one question at a time, the latest counts; changes go one after the other.
const LATER = 250; // milliseconds after the last key

export class Asking {
  // `places`: addresses by name; `heard`: called with each reading and the text that it is of; `failed`: with a sentence.
  constructor({ places, token, heard, failed }) {
    Object.assign(this, { places, token, heard, failed });
    this.timer = 0;
    this.under = null; // the question under way
    this.line = Promise.resolve(); // of changes
  }

  // Asks soon what `text()` holds then.
  soon(text) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.read(text()).catch(() => {}), LATER);
  }

  // Asks at once. Rejects if a later question comes before the answer.
  async read(text) {
    clearTimeout(this.timer);
    this.under?.abort();
    const mine = new AbortController();
    this.under = mine;
    try {
      const reading = await this.post("read", text, "text/plain", mine.signal);
      if (this.under !== mine) throw new DOMException("later", "AbortError");
      this.under = null;
      this.heard(reading, text);
      return reading;
    } catch (error) {
      if (error.name !== "AbortError") this.failed(error.message);
      throw error;
    }
  }

  // Does something after all that was begun before.
  next(doing) {
    const done = this.line.then(doing);
    this.line = done.catch(() => {});
    return done;
  }

  send(place, body) {
    return this.post(place, JSON.stringify(body), "application/json");
  }

  async post(place, body, type, signal) {
    const headers = { "Content-Type": type, "X-CSRFToken": this.token, "X-Requested-With": "fetch" };
    const options = { method: "POST", body, headers, signal };
    const response = await fetch(this.places[place], options).catch((error) => {
      if (error.name === "AbortError") throw error;
      throw new Error("The server cannot be reached; what you typed stays in this browser.");
    });
    const found = await response.json().catch(() => ({}));
    if (response.ok) return found;
    throw new Error(found.error || `The server could not answer (${response.status}); try again.`);
  }
}
