// Answers the requests of a map from data that the page contains, as of a clip or of the decision of a lesson.
import { Source } from "./api.js";

export class SavedSource extends Source {
  // `picture`: the cluster at the beginning. `changes`: what changes until the end. `cycles`: with `points`, Score
  // plugin -> normalized scores. `names`: version -> node names of the rows, if not those of the picture.
  constructor({ picture, changes, cycles, names }) {
    super("");
    Object.assign(this, { first: picture, changes, saved: cycles, rows: names });
  }

  async get(path) {
    const { pathname, searchParams } = new URL(path, "saved://-");
    const [, first, last] = pathname.split("/");
    if (first === "map") return last ? this.changes : this.first;
    if (first === "cycles" && last) return this.found(this.saved[Number(last) - 1], searchParams.get("scores"));
    if (first !== "cycles") throw new Error("This clip does not contain that.");
    const since = Number(searchParams.get("since"));
    const some = this.saved.slice(since, since + Number(searchParams.get("limit")));
    return { cycles: some.map((cycle) => this.found(cycle)) };
  }

  found(cycle, plugin) {
    const scores = plugin ? { plugin, normalized: cycle.points[plugin] } : null;
    return { ...cycle, names: this.rows[cycle.nodes_version] ?? this.first.nodes.name, scores };
  }
}
