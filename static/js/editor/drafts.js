// What is being composed survives a reload in this browser, and which tries were made of it.
const KEY = "kubesched.composer";
const MOST = 20; // tries that are remembered

export class Drafts {
  // `key`: of what was opened, "" for what begins empty.
  constructor(key) {
    this.key = `${KEY}.${key}`;
  }

  // {text, tries, from} or nothing.
  get kept() {
    try {
      return JSON.parse(localStorage.getItem(this.key)) ?? {};
    } catch {
      return {}; // a browser may keep nothing
    }
  }

  keep(more) {
    try {
      localStorage.setItem(this.key, JSON.stringify({ ...this.kept, ...more }));
    } catch {
      // then it is not kept
    }
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
