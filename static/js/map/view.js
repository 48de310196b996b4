// The interactive map: pan, zoom, open a group, select a node. It is drawn after changes, at most once per frame.
import { between, onto, panned, toMap, whole, within, zoomed } from "./camera.js";
import { colouring } from "./colours.js";
import { grouped } from "./grouping.js";
import { at, layout, OPEN } from "./layout.js";
import { commonParts } from "./node_names.js";
import { middleOf, Painter } from "./renderer.js";
import { Scene } from "./scene.js";
import { Tip } from "./tooltip.js";

const calm = matchMedia("(prefers-reduced-motion: reduce)");
const LOWEST = 180; // minimum height in pixels
const MOVED = 4; // pixels that a pointer moves before dragging starts
const FLIGHT = 420; // duration in milliseconds
const MOST_FLIGHTS = 60;
const GLIDE = 320;
export const NOTHING = { plugins: [], of: new Map(), scored: null };
const ALIKE = { keys: new Set(), nodes: new Map() };

export class View {
  // `choose`: called with the name of a node, or "".
  constructor(box, choose) {
    this.box = box;
    this.canvas = box.querySelector("canvas");
    this.tip = new Tip(box.querySelector(".tip"), this);
    this.painter = new Painter(this.canvas);
    this.choose = choose;
    this.eye = { camera: whole(), glide: null };
    this.peer = null; // another view that shares camera and options
    this.ground = { nodes: () => this.world.nodes.values(), pods: () => this.world.pods.values() };
    this.differing = ALIKE; // pods marked as different, and their number per node
    this.tallest = 0.62; // maximum height as a fraction of the window
    this.picture = NOTHING;
    this.flights = [];
    this.by = { group: "", fill: "cpu", colour: "namespace" };
    this.chosen = "";
    this.aim = ""; // the node under a dragged pod
    this.touched = null; // nodes changed since the last frame; null for all
    this.pointers = new Map();
    this.listen();
  }

  get camera() {
    return this.eye.camera;
  }

  set camera(camera) {
    this.eye.camera = camera;
  }

  // Shares camera and options with another view. `ground`: nodes to lay out and pods to colour, of both views.
  pair(other, ground) {
    Object.assign(this, { eye: other.eye, by: other.by, peer: other, ground });
    Object.assign(other, { peer: this, ground });
  }

  // Enlarges the map with its names, for an audience. `scale`: pixels of the page per pixel of the map.
  enlarge(scale) {
    this.canvas.parentElement.style.zoom = scale;
    this.painter.scale = scale;
    this.tallest /= scale;
  }

  get size() {
    return { width: this.canvas.clientWidth, height: this.canvas.clientHeight };
  }

  // Lays out a cluster, for other data or another grouping.
  arrange(world) {
    this.world = world;
    this.shape = world.shape;
    const groups = grouped(this.ground.nodes(), this.by.group);
    this.names = commonParts(groups.flatMap(({ nodes }) => nodes));
    for (const group of groups) group.common = group.nodes.length > 1 ? commonParts(group.nodes) : this.names;
    const width = this.box.clientWidth;
    if (!width) return;
    const least = Math.min(300, Math.max(180, innerHeight - 540)) / this.painter.scale; // low windows
    const tallest = Math.max(least, Math.min(620, innerHeight * this.tallest));
    this.layout = layout(groups, width, tallest);
    this.canvas.style.height = `${Math.max(LOWEST, Math.min(tallest, Math.ceil(this.layout.height)))}px`;
    this.camera = within(this.camera, this.size, this.layout);
    this.recolour();
  }

  recolour(victims = this.victims ?? new Set()) {
    this.victims = victims;
    const { pods, before } = this.world;
    let last = before;
    for (const { came } of pods.values()) if (came > last) last = came;
    const there = [...this.ground.pods()].filter(({ state }) => state > 0);
    this.colouring = colouring(this.by.colour, there, this.painter.theme, { before, last, victims });
    this.scene = new Scene(this.world, this.by.fill, this.colouring);
    this.draw();
  }

  // Colours the pods by result again if other pods are to be evicted.
  evicting(keys = []) {
    if (this.by.colour === "verdict" && `${keys}` !== `${[...(this.victims ?? [])]}`) this.recolour(new Set(keys));
  }

  // Updates the view after changes in the cluster. `moved`: result of World.go.
  changed(moved, animate) {
    if (this.world.shape !== this.shape) this.arrange(this.world);
    const nodes = new Set(moved.flatMap(({ from, to }) => [from, to]).filter(Boolean));
    const any = this.world.nominated.size > 0; // a nominated pod that is placed disappears from another node
    this.scene.forget(any ? undefined : nodes);
    this.flights = [];
    if (animate && !calm.matches && moved.length <= MOST_FLIGHTS)
      this.flights = moved.map((move) => !move.ghost && move.from !== move.to && this.flight(move)).filter(Boolean);
    this.draw(any ? null : nodes);
  }

  flight({ pod, from, to }) {
    const colour = this.colouring.classes[this.colouring.of(pod)]?.colour ?? "gray";
    const hand = { view: true, x: 70, y: -10 };
    const out = { view: true, x: this.size.width / 2, y: this.size.height + 30 };
    const [begin, end] = [from ? middleOf(this.layout, from) : hand, to ? middleOf(this.layout, to) : out];
    return begin && end && { from: begin, to: end, began: performance.now(), lasts: FLIGHT, colour, leaves: !to };
  }

  show(picture) {
    if ((picture ?? NOTHING) === this.picture) return;
    this.picture = picture ?? NOTHING;
    this.draw();
  }

  mark(name, differing = this.differing) {
    if (this.chosen === name && this.differing === differing) return;
    this.chosen = name;
    this.differing = differing;
    this.draw();
  }

  // `nodes`: the changed nodes, or null for all.
  draw(nodes = null) {
    if (nodes && this.touched) for (const name of nodes) this.touched.add(name);
    else this.touched = null;
    if (this.due || !this.layout) return;
    this.due = requestAnimationFrame((now) => {
      this.due = 0;
      this.frame(now);
    });
  }

  frame(now) {
    const { glide } = this.eye;
    if (glide) {
      const part = Math.min(1, (now - glide.began) / GLIDE);
      this.camera = between(glide.from, glide.to, part);
      if (part >= 1) this.eye.glide = null;
    }
    this.flights = this.flights.filter(({ began, lasts }) => now < began + lasts);
    const { layout, names, camera, scene, picture, flights, differing } = this;
    const chosen = this.aim || this.chosen;
    const changed = glide ? null : this.touched;
    this.touched = new Set();
    this.painter.draw({ layout, names, camera, scene, picture, chosen, flights, differing, now }, changed);
    this.box.classList.toggle("closed", this.painter.closed);
    if (this.flights.length || this.eye.glide) this.draw([]);
  }

  // ---- camera

  look(camera, glide = true) {
    if (glide && !calm.matches) this.eye.glide = { from: this.camera, to: camera, began: performance.now() };
    else this.camera = camera;
    this.looked();
  }

  looked() {
    this.draw();
    this.peer?.draw();
  }

  zoom(factor, x = this.size.width / 2, y = this.size.height / 2, glide = true) {
    this.look(zoomed(this.eye.glide?.to ?? this.camera, factor, x, y, this.size, this.layout), glide);
  }

  // Handles the zoom buttons: "closer", "farther" or "whole".
  step(which) {
    if (which === "closer") this.zoom(1.6);
    if (which === "farther") this.zoom(1 / 1.6);
    if (which === "whole") this.look(whole());
  }

  openGroup(tile) {
    const camera = onto(tile, this.size, this.layout, 12);
    const opens = (1.1 * OPEN) / this.layout.pitch; // the zoom that shows nodes: of a large group only some
    this.look(camera.zoom >= opens ? camera : within({ x: tile.x, y: tile.y, zoom: opens }, this.size, this.layout));
  }

  // Brings a node into view.
  reveal(name) {
    const middle = name && this.layout && middleOf(this.layout, name);
    if (!middle) return;
    const near = { x: middle.x - this.layout.pitch * 4, y: middle.y - this.layout.tall * 3 };
    const box = { ...near, width: this.layout.pitch * 8, height: this.layout.tall * 6 };
    if (this.layout.pitch * this.camera.zoom < 30) this.look(onto(box, this.size, this.layout));
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const over of ["pointerup", "pointercancel"]) canvas.addEventListener(over, (event) => this.up(event));
    canvas.addEventListener("pointerleave", () => this.tip.hide());
    canvas.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return; // let the page scroll
        event.preventDefault();
        const { x, y } = this.point(event);
        this.zoom(2 ** (-event.deltaY / 200), x, y, false);
        this.tip.hide();
      },
      { passive: false },
    );
    canvas.addEventListener("dblclick", (event) => {
      const { x, y } = this.point(event);
      this.zoom(event.shiftKey ? 0.4 : 2.5, x, y);
    });
    canvas.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("themechange", () => this.restyle());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.restyle());
    new ResizeObserver(() => this.world && this.arrange(this.world)).observe(this.box);
  }

  restyle() {
    this.painter.restyle();
    if (this.world) this.recolour();
    this.box.dispatchEvent(new Event("recoloured"));
  }

  point({ clientX, clientY }) {
    const { left, top } = this.canvas.getBoundingClientRect();
    const { scale } = this.painter;
    return { x: (clientX - left) / scale, y: (clientY - top) / scale };
  }

  // Returns {tile, index} under a pointer; index -1 is the group itself.
  under(event) {
    if (!this.layout) return null;
    const { x, y } = this.point(event);
    const place = toMap(this.camera, x, y);
    const found = at(this.layout, place.x, place.y);
    return found && this.painter.closed ? { ...found, index: -1 } : found;
  }

  // Marks the node under a dragged pod and describes it. Returns what is there, as `under`; null outside of the map.
  aimAt(event) {
    const { x, y } = this.point(event);
    const { width, height } = this.size;
    const found = x >= 0 && y >= 0 && x < width && y < height ? this.under(event) : null;
    const name = (found?.index >= 0 && found.tile.nodes[found.index]) || "";
    this.tip.tell(found, { x, y });
    if (this.aim !== name) {
      this.aim = name;
      this.draw();
    }
    return found;
  }

  aimEnds() {
    this.aim = "";
    this.tip.hide();
    this.draw();
  }

  down(event) {
    if (event.button) return;
    this.pointers.set(event.pointerId, this.point(event));
    this.dragged = this.pointers.size > 1;
    this.eye.glide = null;
  }

  move(event) {
    const before = this.pointers.get(event.pointerId);
    const now = this.point(event);
    if (!before) {
      this.tip.tell(this.under(event), this.point(event));
      return;
    }
    const [dx, dy] = [now.x - before.x, now.y - before.y];
    if (!this.dragged && Math.hypot(dx, dy) < MOVED) return;
    this.dragged = true;
    this.tip.hide();
    this.canvas.setPointerCapture(event.pointerId);
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const factor =
        Math.hypot(now.x - other.x, now.y - other.y) / (Math.hypot(before.x - other.x, before.y - other.y) || 1);
      this.camera = zoomed(this.camera, factor, (now.x + other.x) / 2, (now.y + other.y) / 2, this.size, this.layout);
    } else this.camera = panned(this.camera, dx, dy, this.size, this.layout);
    this.pointers.set(event.pointerId, now);
    this.looked();
  }

  up(event) {
    const held = this.pointers.delete(event.pointerId);
    if (!held || this.dragged || event.type === "pointercancel") return;
    const found = this.under(event);
    if (!found) this.choose("");
    else if (found.index >= 0) this.choose(found.tile.nodes[found.index]);
    else this.openGroup(found.tile);
  }

  // Keyboard shortcuts of the map; Shift with arrow keys pans.
  key(event) {
    const ways = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    const way = event.shiftKey && ways[event.key];
    if (way) this.look(panned(this.camera, ...way, this.size, this.layout), false);
    else if (event.key === "+" || event.key === "=") this.step("closer");
    else if (event.key === "-") this.step("farther");
    else if (event.key === "0") this.step("whole");
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
