// A map of a cluster without a run, with the card of a node and the ladders of its pending pods.
import { Aside } from "./inspector.js";
import { PendingLadder } from "./pending_ladder.js";
import { StillMap } from "./still_map.js";

// Returns `ladder` as a falsy value if the element has no ladders.
export function pendingMap(box) {
  const shown = { world: null, focus: {}, trace: null };
  const map = new StillMap(box, choose, 0.62);
  const aside = new Aside(box, shown, map.view);
  const ladder =
    box.dataset.ladders &&
    new PendingLadder(box, map, (pod) => {
      shown.pod = pod;
      aside.showNode();
    });

  function choose(node) {
    shown.focus = { node };
    aside.showNode();
  }

  box.addEventListener("click", ({ target }) => {
    if (!target.closest("[data-close-node]")) return;
    map.view.mark("");
    choose("");
  });
  return { map, aside, ladder, shown };
}
