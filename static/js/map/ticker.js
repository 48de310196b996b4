// The latest decisions until the shown timepoint, newest first. Each is a link to its cycle.
import { el } from "../dom.js";
import { number } from "../format.js";
import { withFocus } from "./url_state.js";

const ROWS = 200; // maximum number of rows
const FRESH = 40; // rows after a jump

export class Ticker {
  constructor(list, decisions) {
    Object.assign(this, { list, decisions });
    this.last = 0; // the cycle of the first row
  }

  // Loads what `show` needs.
  load(cycle) {
    return this.decisions.load(Math.max(1, Math.min(this.last + 1, cycle - FRESH + 1), cycle - ROWS + 1), cycle);
  }

  // Shows the decisions until a cycle, and marks it.
  show(cycle, node = "") {
    const { list, decisions } = this;
    if (cycle === this.last && node === this.node) return;
    this.node = node;
    const ahead = cycle - this.last;
    if (ahead < 0 || ahead > ROWS) {
      list.replaceChildren();
      this.last = Math.max(0, cycle - FRESH);
    }
    list.firstElementChild?.removeAttribute("aria-current");
    const fresh = decisions.between(this.last + 1, cycle);
    if (fresh.length < cycle - this.last) return; // they are not here yet
    const rest = withFocus(location.search, { node }).replace("?", "&");
    list.prepend(...fresh.map((one) => this.row(one, rest)).reverse());
    this.last = cycle;
    while (list.childElementCount > ROWS) list.lastElementChild.remove();
    list.firstElementChild?.setAttribute("aria-current", "step");
  }

  // `rest`: of the query of its link.
  row({ cycle, pod, attempt, node, nominated, result, text }, rest) {
    const name = pod.replace(/^default\//, "");
    const where = node ? ` → ${node}` : nominated ? ` ⇢ ${nominated}` : `: ${RESULTS[result] ?? result}`;
    const href = `${location.pathname}?cycle=${cycle}${rest}`;
    const again = attempt > 1 ? `, attempt ${number.format(attempt)}` : "";
    const kind = node ? "placed" : "unplaced";
    return el(
      "li",
      { "data-decision": cycle, class: kind },
      el("a", { href, "data-focus": "", text: name + where }),
      el("span", { class: "muted", text: ` ${text}${again}` }),
    );
  }
}

const RESULTS = { unschedulable: "no node", gated: "gated", error: "error", waiting: "waits in Permit" };
