// Keeps the edited text, and the scenarios of earlier test runs, in browser storage, so that a reload does not lose
// them.
import { store, stored } from "../browser_storage.js";

const KEY = "kubesched.composer";
const MOST = 20; // number of remembered test runs

export class Drafts {
  // `key`: identifies what was opened, "" for an empty editor.
  constructor(key) {
    this.key = `${KEY}.${key}`;
  }

  // {text, tries, from}, or {} if nothing is stored.
  get kept() {
    try {
      return JSON.parse(stored(this.key)) ?? {};
    } catch {
      return {}; // the text is not ours
    }
  }

  keep(more) {
    store(this.key, JSON.stringify({ ...this.kept, ...more }));
  }

  forget() {
    const { tries } = this.kept;
    this.keep({ text: undefined, from: undefined, tries });
  }

  get tries() {
    const { tries } = this.kept;
    return Array.isArray(tries) ? tries.filter(Number.isInteger).slice(-MOST) : [];
  }

  tried(number) {
    this.keep({ tries: [...this.tries, number].slice(-MOST) });
  }
}
