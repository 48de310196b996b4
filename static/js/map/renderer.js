// Draws the map on a canvas. Boxes and blocks of the same style are one path: a frame of 5,000 nodes takes a few
// milliseconds.
import { number } from "../format.js";
import { toView } from "./camera.js";
import { HEAT, heatOf, inkOn, LEVEL_COLOURS, REFUSING } from "./colours.js";
import { LEVELS } from "./ladder.js";
import { HEAD, OPEN, PAD, placeOf } from "./layout.js";
import { forms } from "./node_names.js";
import { resourceName, usageOf } from "./quantities.js";
import { BINS, tally } from "./scene.js";

const NAMED = 58; // minimum pitch in pixels at which a box shows its name
const DETAILED = 104; // ... and the requested quantity
const LETTERED = 22; // ... at which blocks show their letters
const GLOW = 24; // pixels by which the marks of a box extend beyond it
const MOST_AREAS = 60; // maximum number of areas redrawn separately
const STRIP = 15; // height of a box's name
const NEAREST = 3; // width of the frame of groups with the nearest nodes
const THIN = 8; // ... at least
const LEAST_SHARE = 5; // minimum width of a share, so that a single node of thousands is visible
const SIGN = 16; // size of a level's sign
const SIGNED = 26; // ... in boxes of this size, of which enough stays visible
export const PATTERNS = [
  "M-2 2l4-4M0 8l8-8M6 10l4-4",
  "M0 0l8 8M-2 6l4 4M6-2l4 4",
  "M0 4h8",
  "M4 0v8",
  "M0 0l8 8M0 8l8-8",
  "M2 2h1M6 6h1",
];
// Of the levels: plain, stripes, dots, sparse lines.
export const LEVEL_PATTERNS = ["", "M-2 2l4-4M0 8l8-8M6 10l4-4", "M1 2h2M5 6h2", "M0 8l8-8"];
const COLOURS = [
  "paper",
  "surface",
  "sunken",
  "ink",
  "ink-2",
  "ink-3",
  "line-2",
  "accent",
  "bar",
  "bad",
  "warn",
  "ok-soft",
];
// Styles in fill order, with their colours. Those without one are numbered: "heat-2".
const STYLES = {
  ground: "sunken",
  fits: "ok-soft",
  heat: "",
  level: "",
  marks: "",
  class: "",
  over: "bad",
  veil: "surface",
  veiled: "sunken",
  tint: "",
  bar: "bar",
  axis: "line-2",
  unseen: "line-2",
  pattern: "",
  now: "bad",
  sign: "surface",
  cordoned: "ink",
  tainted: "warn",
  broken: "bad",
  ghost: "",
  ghosted: "accent",
  halo: "surface",
  near: "ink",
  odd: "ink",
  back: "surface",
};
const RANKS = Object.keys(STYLES);
const rankOf = (style) => RANKS.indexOf(style.split("-")[0]);
const percent = new Intl.NumberFormat("en", { style: "percent" });

export class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.widths = new Map();
    this.flown = []; // areas of the moving pods in the last frame
    this.view = null; // canvas size in the last frame
    this.scale = 1; // CSS zoom of the canvas
    this.restyle();
    this.context.fillStyle = this.colour.paper; // the canvas would be black until the first frame
    this.context.fillRect(0, 0, canvas.width, canvas.height);
  }

  restyle() {
    const css = getComputedStyle(document.documentElement);
    this.colour = Object.fromEntries(COLOURS.map((name) => [name, css.getPropertyValue(`--${name}`).trim()]));
    this.font = css.getPropertyValue("--font");
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    this.theme = (document.documentElement.dataset.theme || (dark ? "dark" : "light")) === "dark" ? "dark" : "light";
    this.levels = LEVEL_COLOURS[this.theme];
    this.refusing = REFUSING[this.theme];
    const pattern = (path, colour) => path && this.context.createPattern(hatched(path, colour), "repeat");
    this.patterns = PATTERNS.map((path, by) => pattern(path, this.refusing[by]));
    this.ghosts = pattern(PATTERNS[0], this.colour["ink-3"]);
    this.marks = LEVEL_PATTERNS.map((path, level) => pattern(path, inkOn(this.levels[level])));
  }

  // Resizes the canvas to its element at the screen's resolution.
  fit() {
    const ratio = (devicePixelRatio || 1) * this.scale;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.view = null; // resizing clears the canvas
    }
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return { width: this.canvas.width / ratio, height: this.canvas.height / ratio };
  }

  // `look`: { layout, names, camera, scene, picture, chosen, flights, differing, now, bare }. `bare`: without the names of
  // groups, and with small boxes instead of sums. `changed`: names of the nodes to redraw, in addition to moving pods; null redraws everything.
  draw(look, changed = null) {
    const view = this.fit();
    const fresh = !this.view;
    this.view = view;
    this.look = look;
    this.pitch = look.layout.pitch * look.camera.zoom;
    const flights = look.flights.map((flight) => this.flying(flight, look.now));
    let areas = [{ x: 0, y: 0, ...view }];
    if (changed && !fresh && changed.size < MOST_AREAS) {
      const some = [...this.areasOf(changed), ...this.flown, ...flights.map(({ area }) => area)];
      if (some.length <= MOST_AREAS) areas = some;
    }
    for (const area of areas) this.paint(area);
    for (const flight of flights) this.fly(flight);
    this.flown = flights.map(({ area }) => area);
  }

  // Draws a part of the view.
  paint({ x, y, width, height }) {
    const { context } = this;
    context.save();
    context.beginPath();
    context.rect(x, y, width, height);
    context.clip();
    context.fillStyle = this.look.layout.tiles.length > 1 ? this.colour.paper : this.colour.surface;
    context.fillRect(x, y, width, height);
    this.seen = { left: x - GLOW, top: y - GLOW, right: x + width + GLOW, bottom: y + height + GLOW };
    this.batches = new Map();
    this.words = [];
    this.special = [];
    this.covered = -Infinity;
    for (const tile of this.look.layout.tiles) this.tile(tile);
    const styles = [...this.batches.keys()].sort((a, b) => rankOf(a) - rankOf(b));
    for (const style of styles) this.fillAll(style, this.batches.get(style));
    for (const { box, verdict, covered } of this.special) {
      this.covered = covered;
      this.mark(box, verdict);
    }
    for (const word of this.words) this.write(...word);
    context.restore();
  }

  // Returns the areas of nodes: their boxes and the headings of their groups, or the whole group if it is closed.
  areasOf(names) {
    const { camera, layout } = this.look;
    const found = [];
    for (const tile of layout.tiles) {
      const { x, y } = toView(camera, tile.x, tile.y);
      const [width, high] = [Math.ceil(tile.width * camera.zoom) + 2, Math.ceil(tile.height * camera.zoom) + 2];
      const inside = [...names].map((name) => tile.nodes.indexOf(name)).filter((index) => index >= 0);
      if (!inside.length) continue;
      const [left, top] = [Math.floor(x), Math.floor(y)];
      if (this.closed) {
        found.push({ x: left, y: top, width, height: high });
        continue;
      }
      found.push({ x: left, y: Math.max(top, 0), width, height: Math.ceil(HEAD * 1.4) + 1 });
      for (const index of inside) {
        const place = placeOf(layout, tile, index);
        const corner = toView(camera, place.x, place.y);
        const size = { width: Math.ceil(this.pitch) + 2, height: Math.ceil(layout.tall * camera.zoom) + 2 };
        found.push({ x: Math.floor(corner.x) - 1, y: Math.floor(corner.y) - 1, ...size });
      }
    }
    const { width, height } = this.view;
    return found.filter(
      (area) => area.x < width && area.y < height && area.x + area.width > 0 && area.y + area.height > 0,
    );
  }

  get closed() {
    if (this.look.bare) return this.pitch < 2;
    return this.pitch < OPEN && (this.look.layout.tiles.length > 1 || this.pitch < 4);
  }

  tile(tile) {
    const { look } = this;
    const { camera, layout } = look;
    const { x, y } = toView(camera, tile.x, tile.y);
    const [wide, high] = [tile.width * camera.zoom, tile.height * camera.zoom];
    const { seen } = this;
    if (x > seen.right || y > seen.bottom || x + wide < seen.left || y + high < seen.top) return;
    this.context.fillStyle = this.colour.surface;
    this.context.fillRect(Math.round(x), Math.round(y), Math.round(wide), Math.round(high));
    const chosen = this.closed && tile.nodes.some((name) => look.picture.of.get(name)?.kind === "chosen");
    if (!look.bare) this.head(tile, x, y, wide - (chosen ? 2 * STRIP : 0));
    if (this.closed) {
      this.summary(tile, x, y, wide, high);
      const corner = { x: Math.round(x) + 3, y: Math.round(y) + 3 };
      const frame = { ...corner, width: Math.round(wide) - 6, height: Math.round(high) - 6 };
      if (chosen) this.special.push({ box: frame, verdict: { kind: "chosen" }, covered: this.covered });
      return;
    }
    const [pitch, tall] = [this.pitch, layout.tall * camera.zoom];
    const [left, top] = [x + PAD * camera.zoom, y + HEAD * camera.zoom];
    const rows = Math.ceil(tile.nodes.length / tile.columns);
    const first = Math.max(0, Math.floor((seen.top - top) / tall));
    const last = Math.min(rows - 1, Math.floor((seen.bottom - top) / tall));
    const begin = Math.max(0, Math.floor((seen.left - left) / pitch));
    const end = Math.min(tile.columns - 1, Math.floor((seen.right - left) / pitch));
    for (let row = first; row <= last; row += 1)
      for (let column = begin; column <= end; column += 1) {
        const name = tile.nodes[row * tile.columns + column];
        if (name !== undefined) this.box(name, left + column * pitch, top + row * tall, pitch, tall, tile.common);
      }
  }

  // The group's name stays in view while its nodes are visible.
  head(tile, x, y, wide) {
    const { camera, scene } = this.look;
    const size = Math.max(11, Math.min(15, HEAD * camera.zoom * 0.55));
    const line =
      Math.max(y, Math.min(0, y + tile.height * camera.zoom - HEAD)) + Math.min(HEAD * camera.zoom, HEAD * 1.4) / 2;
    const below = y < 0 ? line * 2 : -Infinity; // of a name above the group's first row
    if (line - HEAD > this.seen.bottom || line + HEAD < this.seen.top) {
      this.covered = below; // another part of the map is drawn
      return;
    }
    const left = Math.max(x, 0) + PAD;
    const space = Math.min(x + wide, this.view.width) - left - PAD;
    if (y < 0) this.add("back", Math.max(x, 0), 0, Math.min(x + wide, this.view.width) - Math.max(x, 0), line * 2);
    const sum = scene.sum(tile);
    const odd = this.odd(tile);
    const placed = sum.placed ? ` · +${number.format(sum.placed)} ${sum.placed === 1 ? "pod" : "pods"}` : "";
    const more = `${odd}${number.format(sum.nodes)} ${sum.nodes === 1 ? "node" : "nodes"} · ${percent.format(sum.share)}${placed}`;
    this.covered = -Infinity;
    const name = this.short(tile.name, space, size, 650);
    const used = this.width(name, size, 650) + 8;
    this.word(name, left, line, size, "ink", 650);
    const fits = [more, odd.slice(0, -3)].find((text) => text && space - used > this.width(text, size - 1, 400));
    if (fits) this.word(fits, left + used, line, size - 1, "ink-2");
    this.covered = below;
  }

  // Returns the number of a group's pods that are on another node in the other run.
  odd(tile) {
    const { nodes } = this.look.differing;
    const count = nodes.size ? tile.nodes.reduce((sum, name) => sum + (nodes.get(name) ?? 0), 0) : 0;
    return count ? `≠ ${number.format(count)} · ` : "";
  }

  box(name, x, y, pitch, tall, common = this.look.names) {
    const { scene, picture, differing } = this.look;
    const gap = pitch > 30 ? 4 : pitch > 9 ? 2 : pitch > 4 ? 1 : 0;
    const box = { x: Math.round(x), y: Math.round(y) };
    box.width = Math.max(1, Math.round(x + pitch) - box.x - gap);
    box.height = Math.max(1, Math.round(y + tall) - box.y - gap);
    box.name = name;
    box.common = common;
    if (!scene.world.nodes.has(name)) {
      this.absent(name, box, pitch);
      return;
    }
    const verdict = picture.of.get(name);
    const refused = verdict?.kind === "refused" || verdict?.kind === "unseen";
    const heat = verdict?.kind === "heat";
    const { level } = verdict ?? {};
    const leveled = level !== undefined;
    const plain = verdict?.kind === "fits" ? "fits" : "ground";
    const ground = heat ? `heat-${heatOf(verdict.value, this.theme)}` : leveled ? `level-${level}` : plain;
    this.add(ground, box.x, box.y, box.width, box.height);
    const strip = pitch >= NAMED ? STRIP * (pitch >= DETAILED ? 2 : 1) : 0;
    const aside = leveled && pitch < LETTERED ? 0 : Math.max(2, Math.round(box.width * 0.3));
    const column = heat || leveled ? aside : box.width;
    if (leveled) this.level(box, verdict, strip, column);
    if (column)
      this.blocks(scene.box(name), box.x + box.width - column, box.y + strip, column, box.height - strip, refused);
    if (strip) this.label(name, box, pitch, verdict);
    if (refused) {
      const by = (verdict.by ?? 0) % PATTERNS.length;
      this.add("veil", box.x, box.y, box.width, box.height);
      if (verdict.kind === "refused") {
        this.add(`tint-${by}${verdict.now ? "-now" : ""}`, box.x, box.y, box.width, box.height);
        this.add(`pattern-${by}`, box.x, box.y + strip, box.width, box.height - strip);
      }
      if (verdict.now && pitch > 7) this.add("now", box.x, box.y + box.height - 2, box.width, 2);
    }
    if (verdict?.kind === "chosen" || verdict?.kind === "candidate" || name === this.look.chosen)
      this.special.push({
        box,
        verdict: name === this.look.chosen ? { ...verdict, looked: true } : verdict,
        covered: this.covered,
      });
    if (differing.nodes.has(name) && pitch < LETTERED) this.add("odd", box.x, box.y, Math.ceil(pitch / 8), box.height);
    const node = scene.world.nodes.get(name);
    if (node && pitch > 9 && (!node.ready || node.unschedulable || node.taints.length)) {
      const size = Math.min(6, Math.round(pitch / 4));
      const [style, high] = !node.ready ? ["broken", size] : node.unschedulable ? ["cordoned", size] : ["tainted", 2];
      this.add(style, box.x + box.width - size, box.y, size, high);
    }
  }

  // Draws the pattern and the sign of a node's level, and a frame if no other level is nearer. `column`: width of the pods at the right.
  level({ x, y, width, height }, { level, changes }, strip, column) {
    if (LEVEL_PATTERNS[level]) this.add(`marks-${level}`, x, y + strip, width - column, height - strip);
    if (level === this.look.picture.near && width > 7) this.frame("near", x, y, width, height, width > 24 ? 2 : 1);
    if (level === LEVELS.length - 1 || width - column < SIGNED || height - strip < SIGNED) return;
    this.add("sign", x + 2, y + height - SIGN, SIGN - 2, SIGN - 2);
    const sign = changes > 1 ? String(Math.min(9, changes)) : LEVELS[level].sign;
    this.word(sign, x + SIGN / 2 + 1, y + height - SIGN / 2 - 1, 11, "ink", 700, "center");
  }

  // Draws a node that exists only in the other run.
  absent(name, { x, y, width, height, common }, pitch) {
    this.frame("axis", x, y, width, height, 1);
    if (pitch < NAMED) return;
    for (const [line, text] of [this.nodeName(name, common, width - 8, 10, 400), "missing"].entries())
      this.word(this.short(text, width - 8, 10, 400), x + 4, y + STRIP * (line + 0.5) + 1, 10, "ink-3");
  }

  blocks({ parts, classes, pods, ghosts }, x, y, width, height, dim) {
    const lettered = width >= LETTERED && !dim;
    const { keys } = this.look.differing;
    for (let index = 0; index < parts.length; index += 1) {
      const [from, to] = [Math.min(1, parts[index][0]), Math.min(1, parts[index][1])];
      const [bottom, top] = [Math.round(y + height * (1 - from)), Math.round(y + height * (1 - to))];
      const ghost = ghosts[index - pods.length];
      if (ghost) {
        this.ghost(ghost, x, top, width, Math.max(4, bottom - top));
        continue;
      }
      if (to <= from && bottom <= top) continue;
      const high = Math.max(1, bottom - top);
      const line = high > 4 ? 1 : 0;
      this.add(`class-${classes[index]}`, x, bottom - high, width, high - line);
      const odd = keys.has(pods[index].key);
      const faded = keys.size > 0 && !odd; // next to pods that are on another node in the other run
      if (faded) this.add("veil", x, bottom - high, width, high - line);
      if (odd && width >= LETTERED - 6) this.oddBlock(x, bottom - high, width, high - line);
      if (lettered && high >= 11) {
        const name = pods[index].key.slice(pods[index].key.indexOf("/") + 1);
        const { letter = "", colour = "#000000" } = this.look.scene.colouring.classes[classes[index]] ?? {};
        const mark = odd ? "≠" : letter;
        const text = this.short(width >= 80 ? `${mark} ${name}` : mark, width - (odd ? 12 : 6), 10, odd ? 800 : 500);
        this.word(text, x + (odd ? 11 : 4), bottom - high / 2, 10, faded ? "ink" : inkOn(colour), 500);
      }
    }
    if ((parts[pods.length - 1]?.[1] ?? 0) > 1 + 1e-9) this.add("over", x, y, width, Math.min(3, height));
  }

  // Draws a nominated pod: hatched with a frame, because it is not on the node.
  ghost({ key }, x, y, width, height) {
    this.add("ghost-0", x, y, width, height);
    this.frame("ghosted", x, y, width, height, width > 30 ? 2 : 1);
    if (width < 80 || height < 11) return;
    const text = this.short(`⇢ ${key.slice(key.indexOf("/") + 1)}`, width - 8, 10, 500);
    this.add("back", x + 2, y + height / 2 - 6, Math.min(width - 4, this.width(text, 10, 500) + 4), 12);
    this.word(text, x + 4, y + height / 2, 10, "ink", 500);
  }

  // Marks a pod that is on another node in the other run: a bar at the left, and a frame if the block is large
  // enough.
  oddBlock(x, y, width, height) {
    const bar = Math.max(3, Math.min(7, Math.round(width / 12)));
    this.add("odd", x, y, bar, height);
    this.add("halo", x + bar, y, 1, height);
    if (height > 16) this.frame("odd", x, y, width, height, 2);
  }

  label(name, box, pitch, verdict) {
    const { scene } = this.look;
    const heat = verdict?.kind === "heat";
    const colour = heat
      ? HEAT[this.theme][heatOf(verdict.value, this.theme)]
      : verdict?.level !== undefined && this.levels[verdict.level];
    const ink = colour ? inkOn(colour) : "ink";
    const star = verdict?.kind === "chosen" ? STRIP : 0;
    this.word(
      this.nodeName(name, box.common, box.width - 8 - star, 11, 550),
      box.x + 4,
      box.y + STRIP / 2 + 1,
      11,
      ink,
      550,
    );
    if (pitch < DETAILED) return;
    const text = heat ? `${number.format(verdict.score)} points` : usageOf(scene.world, name, scene.resource);
    this.word(this.short(text, box.width - 8, 10, 400), box.x + 4, box.y + STRIP * 1.5, 10, colour ? ink : "ink-2");
  }

  // Draws a closed group: a histogram of resource use, and the verdicts of the step; or the shares of the levels.
  summary(tile, x, y, wide, high) {
    const { scene, picture, camera } = this.look;
    const { bins } = scene.sum(tile);
    const [left, right] = [x + PAD + 2, x + wide - PAD - 2];
    const top = y + HEAD * camera.zoom + 4;
    if (picture.levels) {
      this.shares(tile, left, top, right - left, y + high - PAD - top, [x, y, wide, high]);
      return;
    }
    const bar = picture.of.size ? 14 : 0;
    const bottom = y + high - PAD - bar - 16;
    if (bottom - top < 14 || right - left < 24) {
      this.quick(tile, left, top, right - left, y + high - PAD - top);
      return;
    }
    const most = Math.max(1, ...bins);
    const step = (right - left) / BINS;
    bins.forEach((count, bin) => {
      const tall = count ? Math.max(2, ((bottom - top) * count) / most) : 0;
      this.add(bin === BINS - 1 ? "over" : "bar", left + bin * step, bottom - tall, Math.max(1, step - 2), tall);
      this.add("axis", left + bin * step, bottom, Math.max(1, step - 2), 1);
    });
    const width = right - left;
    const low = this.short(`0% ${resourceName(scene.resource)}`, width / 2, 10, 400);
    this.word(low, left, bottom + 8, 10, "ink-3");
    if (width > 120) this.word("full", left + step * 10 - 4, bottom + 8, 10, "ink-3", 400, "right");
    if (bar) this.outcome(tile, left, bottom + 17, width, bar - 4);
  }

  // Draws a group that is too small for a histogram: one bar for its resource use.
  quick(tile, x, y, width, height) {
    if (width < 1 || height < 1) return;
    const share = Math.min(1, this.look.scene.sum(tile).share);
    this.add("ground", x, y, width, height);
    this.add("bar", x, y + height * (1 - share), width, height * share);
  }

  outcome(tile, x, y, width, height) {
    const counts = tally(tile, this.look.picture);
    let at = x;
    this.add("bar", x, y, width, height);
    counts.forEach((count, by) => {
      const part = (width * count) / tile.nodes.length;
      if (!part) return;
      this.add("veiled", at, y, part, height);
      if (by < counts.length - 1) this.add(`tint-${by % PATTERNS.length}`, at, y, part, height);
      this.add(by < counts.length - 1 ? `pattern-${by % PATTERNS.length}` : "unseen", at, y, part, height);
      at += part;
    });
  }

  // Draws how many nodes of a closed group are on each level: a bar, and a line for each level while there is space.
  // `around`: the area of the group, framed if it has nodes that need the fewest changes.
  shares(tile, x, y, width, height, around) {
    if (width < 1 || height < 1) return;
    const { look } = this;
    const counts = tally(tile, look.picture);
    const present = [...counts.keys()].filter((level) => counts[level]);
    const lines = Math.min(present.length, Math.floor((height - THIN) / STRIP));
    const bar = height - lines * STRIP;
    if (counts[look.picture.near]) this.frame("near", ...around, NEAREST);
    const least = Math.min(LEAST_SHARE, width / (present.length || 1));
    const rest = width - least * present.length;
    const total = counts.reduce((sum, count) => sum + count, 0);
    let at = x;
    for (const level of present) {
      const part = least + (rest * counts[level]) / total;
      this.swatch(level, at, y, part, bar);
      at += part;
    }
    present.slice(0, lines).forEach((level, line) => {
      const middle = y + bar + (line + 0.5) * STRIP + 1;
      const [count, weight] = [number.format(counts[level]), level ? 500 : 650];
      const texts = [`${LEVELS[level].name}: ${count}`, `${LEVELS[level].short}: ${count}`];
      const text = texts.find((one) => this.width(one, 11, weight) <= width - 15) ?? count;
      this.swatch(level, x, middle - 5, 10, 10);
      this.word(this.short(text, width - 15, 11, weight), x + 15, middle, 11, "ink", weight);
    });
  }

  swatch(level, x, y, width, height) {
    this.add(`level-${level}`, x, y, width, height);
    if (LEVEL_PATTERNS[level]) this.add(`marks-${level}`, x, y, width, height);
  }

  add(style, x, y, width, height) {
    const rects = this.batches.get(style);
    if (rects) rects.push(x, y, width, height);
    else this.batches.set(style, [x, y, width, height]);
  }

  frame(style, x, y, width, height, thick) {
    if (width <= 2 * thick || height <= 2 * thick) return;
    this.add(style, x, y, width, thick);
    this.add(style, x, y + height - thick, width, thick);
    this.add(style, x, y + thick, thick, height - 2 * thick);
    this.add(style, x + width - thick, y + thick, thick, height - 2 * thick);
  }

  fillAll(style, rects) {
    const { context } = this;
    context.beginPath();
    for (let index = 0; index < rects.length; index += 4)
      context.rect(rects[index], rects[index + 1], rects[index + 2], rects[index + 3]);
    const [kind, which, now] = style.split("-");
    context.globalAlpha = this.alphaOf(kind, Number(which), now);
    context.fillStyle = this.styleOf(kind, Number(which));
    context.fill();
    context.globalAlpha = 1;
  }

  alphaOf(kind, which, now) {
    if (kind === "marks") return which === LEVELS.length - 1 ? 0.16 : 0.55;
    if (kind === "tint") return now ? 0.5 : 0.14;
    return kind === "veil" ? 0.74 : kind === "pattern" ? 0.85 : 1;
  }

  styleOf(kind, which) {
    const { colour, look, theme, refusing } = this;
    if (kind === "class") return look.scene.colouring.classes[which]?.colour ?? colour["ink-3"];
    if (kind === "heat") return HEAT[theme][which];
    if (kind === "pattern") return this.patterns[which];
    if (kind === "ghost") return this.ghosts;
    if (kind === "tint") return refusing[which];
    if (kind === "level") return this.levels[which];
    if (kind === "marks") return this.marks[which];
    return colour[STYLES[kind]];
  }

  // Marks a node: a glow for the chosen one, a dashed frame for candidates, a ring for the selected one.
  mark({ x, y, width, height }, verdict) {
    const { context, colour } = this;
    context.save();
    context.lineWidth = width > 30 ? 3 : 2;
    context.strokeStyle = verdict.kind === "candidate" ? colour.warn : colour.accent;
    if (verdict.looked && verdict.kind !== "chosen") context.strokeStyle = colour.ink;
    if (verdict.kind === "candidate") context.setLineDash([4, 3]);
    if (verdict.kind === "chosen") {
      context.shadowColor = colour.accent;
      context.shadowBlur = 14;
      context.strokeRect(x - 2, y - 2, width + 4, height + 4);
    }
    context.strokeRect(x - 1, y - 1, width + 2, height + 2);
    context.restore();
    if (verdict.kind === "chosen") {
      const size = Math.max(9, Math.min(15, width / 3));
      this.word("★", x + width - size / 2 - 2, y + size / 2 + 2, size, "accent", 700, "center");
    }
  }

  // Adds a text, to be written above everything else, unless the name of its group covers it.
  word(...word) {
    const [, , y, size] = word;
    if (y - size / 2 >= this.covered) this.words.push(word);
  }

  write(text, x, y, size, ink, weight = 400, align = "left") {
    const { context } = this;
    context.font = `${weight} ${size}px ${this.font}`;
    context.textAlign = align;
    context.textBaseline = "middle";
    context.fillStyle = this.colour[ink] ?? ink;
    context.fillText(text, x, y);
  }

  width(text, size, weight) {
    const key = `${weight} ${size} ${text}`;
    let wide = this.widths.get(key);
    if (wide === undefined) {
      if (this.widths.size > 20_000) this.widths.clear();
      this.context.font = `${weight} ${size}px ${this.font}`;
      wide = this.context.measureText(text).width;
      this.widths.set(key, wide);
    }
    return wide;
  }

  // Shortens a text to fit. It removes the middle, because similar names differ at their ends.
  short(text, space, size, weight) {
    const wide = this.width(text, size, weight);
    if (wide <= space) return text;
    for (let keep = Math.floor((text.length * space) / wide); keep >= 2; keep -= 1) {
      const cut = `${text.slice(0, Math.ceil(keep / 2))}…${text.slice(text.length - Math.floor(keep / 2))}`;
      if (this.width(cut, size, weight) <= space) return cut;
    }
    return "";
  }

  // Shortens the name of a node by what all names of its group have in common; only then from its beginning, because names differ
  // at their ends.
  nodeName(name, common, space, size, weight) {
    const shapes = forms(name, common);
    const found = shapes.find((text) => this.width(text, size, weight) <= space);
    if (found) return found;
    const text = shapes.at(-1);
    for (let keep = Math.floor((text.length * space) / this.width(text, size, weight)); keep >= 2; keep -= 1) {
      const cut = `…${text.slice(-keep)}`;
      if (this.width(cut, size, weight) <= space) return cut;
    }
    return "";
  }

  // Returns the position of a moving pod. `flight`: {from, to, began, lasts, colour, leaves}, places in map pixels.
  flying({ from, to, began, lasts, colour, leaves }, now) {
    const part = Math.min(1, Math.max(0, (now - began) / lasts));
    const eased = 1 - (1 - part) ** 3;
    const { camera } = this.look;
    const [a, b] = [from, to].map((end) => (end.view ? end : toView(camera, end.x, end.y)));
    const size = Math.max(8, Math.min(26, this.pitch * 0.6));
    const [x, y] = [a.x + (b.x - a.x) * eased - size / 2, a.y + (b.y - a.y) * eased - size / 2];
    const around = Math.ceil(size) + 5;
    const area = { x: Math.floor(x) - 2, y: Math.floor(y) - 2, width: around, height: around };
    return { x, y, size, area, colour, leaves, seen: leaves ? 1 - part : 1 };
  }

  fly({ x, y, size, colour, leaves, seen }) {
    const { context } = this;
    context.globalAlpha = seen;
    context.fillStyle = colour;
    context.strokeStyle = leaves ? this.colour.bad : this.colour.accent;
    context.lineWidth = 2;
    context.fillRect(x, y, size, size);
    context.strokeRect(x, y, size, size);
    context.globalAlpha = 1;
  }
}

// Returns the middle of a node's box on the map.
export function middleOf(layout, name) {
  for (const tile of layout.tiles) {
    const index = tile.nodes.indexOf(name);
    if (index < 0) continue;
    const { x, y } = placeOf(layout, tile, index);
    return { x: x + layout.pitch / 2, y: y + layout.tall / 2 };
  }
  return null;
}

function hatched(path, colour) {
  const tile = document.createElement("canvas");
  tile.width = 8;
  tile.height = 8;
  const context = tile.getContext("2d");
  context.strokeStyle = colour;
  context.lineWidth = 1.2;
  context.stroke(new Path2D(path));
  return tile;
}
