// Tooltip of the map: describes the node, group or pod under the pointer.
import { el } from "../dom.js";
import { counted } from "../format.js";
import { toMap } from "./camera.js";
import { placeOf } from "./layout.js";
import { requestOf, resourceName, usageOf } from "./quantities.js";
import { words } from "./verdicts.js";

export class Tip {
  constructor(box, view) {
    Object.assign(this, { box, view });
  }

  hide() {
    this.box.hidden = true;
  }

  // `found`: {tile, index} or null. `point`: position on the canvas.
  tell(found, point) {
    const { box, view } = this;
    box.hidden = !found;
    view.canvas.style.cursor = found ? "pointer" : "";
    if (!found) return;
    const lines = this.lines(found, point);
    box.replaceChildren(...lines.map((text) => el("span", { text })));
    const { width, height } = view.size;
    box.style.left = `${Math.max(0, Math.min(width - box.offsetWidth, point.x + 14))}px`;
    box.style.top = `${point.y + 18 + box.offsetHeight > height ? point.y - box.offsetHeight - 8 : point.y + 18}px`;
  }

  lines({ tile, index }, point) {
    const { world, scene, by, picture, painter } = this.view;
    const share = (value) => `${Math.round(value * 100)}% of ${resourceName(by.fill)}`;
    if (index < 0) {
      const sum = scene.sum(tile);
      const hint = painter.closed ? ["click to open"] : [];
      return [tile.name, `${counted(sum.nodes, "node")}, ${counted(sum.pods, "pod")}`, share(sum.share), ...hint];
    }
    const name = tile.nodes[index];
    if (!world.nodes.has(name)) return [name, "does not exist at this timepoint"];
    const box = scene.box(name);
    const lines = [name, `${usageOf(world, name, by.fill)}, ${counted(box.pods.length, "pod")}`];
    const { ready, unschedulable } = world.nodes.get(name);
    if (!ready || unschedulable) lines.push(ready ? "cordoned" : "not ready");
    const verdict = words(picture.of.get(name), picture);
    if (verdict) lines.push(verdict);
    const pod = this.podUnder(tile, index, box, point);
    if (pod) {
      const nominated = box.ghosts.includes(pod) ? ", nominated, not placed" : "";
      lines.push(`${pod.key}: ${requestOf(pod, by.fill)}${nominated}`);
      if (this.view.differing.keys.has(pod.key)) lines.push("is on another node in the other run");
    }
    return lines;
  }

  podUnder(tile, index, { parts, pods, ghosts }, { x, y }) {
    const { camera, layout } = this.view;
    const high = layout.tall;
    const level = 1 - (toMap(camera, x, y).y - placeOf(layout, tile, index).y) / (high * 0.94);
    return [...pods, ...ghosts][parts.findIndex(([from, to]) => level >= from && level < to)];
  }
}
