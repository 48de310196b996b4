// Playback controls of a map: slider, buttons, speed and keys move a player.
import { el } from "../dom.js";
import { counted } from "../format.js";
import { onGoTo, onKeys } from "../keys.js";
import { FASTEST, SPEEDS, speedFor, USUAL_SPEED } from "./stepper.js";
import { focusIn } from "./url_state.js";

export class Controls {
  // `inTime`: the slider shows virtual seconds, else cycles.
  constructor(box, player, inTime) {
    Object.assign(this, { box, player, inTime });
    this.slider = box.querySelector("input[type=range]");
    this.offerSpeeds();
    this.listen();
  }

  part(name) {
    return this.box.querySelector(`[data-${name}]`);
  }

  show() {
    const { player, slider, inTime, box } = this;
    slider.max = inTime ? Math.max(1e-6, player.until, Number(box.dataset.until) || 0) : player.head + 1;
    slider.min = inTime ? 0 : 1;
    slider.value = inTime ? player.second : player.cycleHere;
    const { place } = player;
    slider.setAttribute("aria-valuetext", place);
    this.part("place").textContent = place;
    for (const button of box.querySelectorAll("[data-play]")) {
      const on = !player.pace && player.playing === Number(button.dataset.play);
      button.setAttribute("aria-pressed", String(on));
      button.classList.toggle("on", on);
    }
    const [before, after] = [box.querySelector('[data-do="before"]'), box.querySelector(".head [data-do='end']")];
    before?.setAttribute("aria-pressed", String(player.atStart));
    after?.setAttribute("aria-pressed", String(player.atEnd));
    this.part("stopped").textContent = player.stopped ? `Stopped: ${player.stopped}` : "";
    this.part("speed").value = String(player.speed);
    this.showFollowing();
  }

  // Shows whether an active run is followed at its last decision, or how many decisions wait to be played.
  showFollowing() {
    const { player } = this;
    const box = this.part("following");
    if (!box) return;
    const behind = player.head - player.position;
    box.hidden = !player.live || (player.decisions.over && !behind);
    const paused = player.playing ? "" : "paused, ";
    this.part("behind").textContent = behind ? `${paused}${counted(behind, "decision")} behind` : `${paused}live`;
    box.classList.toggle("live", !behind && player.playing > 0);
    box.querySelector("button").hidden = !behind;
  }

  offerSpeeds() {
    const { player, box } = this;
    const [speed, unit] = [this.part("speed"), this.part("unit")];
    const textOf = (one) => (one === FASTEST ? "as fast as it runs" : `${one} a second`);
    for (const one of SPEEDS) speed.append(el("option", { value: one, text: textOf(one) }));
    speed.value = String(player.live ? USUAL_SPEED : Math.min(30, speedFor(Number(box.dataset.cycles) || 1)));
    player.speed = Number(speed.value);
    speed.addEventListener("change", () => {
      player.speed = Number(speed.value);
    });
    unit.addEventListener("change", () => {
      player.unit = unit.value;
    });
  }

  listen() {
    const { player, slider, box } = this;
    const step = (by) => {
      player.pause();
      return player.go(player.unit, by);
    };
    const actions = {
      before: () => player.before(),
      start: () => player.start(),
      back: () => step(-1),
      forward: () => step(1),
      end: () => player.end(),
      "play-back": () => player.play(-1),
      play: () => player.play(1),
    };
    for (const button of box.querySelectorAll(".head [data-do]")) button.disabled = false; // nothing moves before
    document.addEventListener("click", (event) => {
      const link = event.target.closest("a[data-focus]");
      const outside = link?.closest("#together"); // the pods without a node
      if (!link || !(outside || box.contains(link)) || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      player.pause();
      player.to(focusIn(new URL(link.href).search));
      if (outside) box.scrollIntoView();
    });
    box.addEventListener("click", (event) => {
      const { do: wanted, look } = event.target.closest("button")?.dataset ?? {};
      actions[wanted]?.();
      player.view.step(look);
    });
    let sliding = 0;
    slider.addEventListener("input", () => {
      player.pause();
      const value = Number(slider.value);
      const focus = () => (this.inTime ? { t: Math.round(value * 1000) / 1000 } : { cycle: Math.round(value) });
      clearTimeout(sliding);
      sliding = setTimeout(() => player.to(focus(), { address: "replace" }), 16);
    });
    slider.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
      if (!by || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      event.stopPropagation();
      player.pause();
      player.go("cycle", by);
    });
    addEventListener("popstate", () => {
      player.pause();
      player.to(player.focusInUrl(), { address: "keep" });
    });
  }
}

// Keyboard shortcuts of the shown player, or none; parts/debugger_keys.html and parts/stage_keys.html list them.
export function listenToKeys(shown) {
  const using = (act) => () => {
    const player = shown();
    if (player) act(player);
  };
  const by = (unit, way) =>
    using((player) => {
      player.pause();
      player.go(unit, way);
    });
  const other = (which) =>
    using((player) => {
      const { point, plugin } = player.focus;
      const cycle = player.trace?.[which];
      if (cycle) player.to({ cycle, ...(point && { point, plugin }) });
    });
  onKeys({
    ArrowLeft: by("point", -1),
    ArrowRight: by("point", 1),
    k: by("plugin", -1),
    j: by("plugin", 1),
    p: other("before"),
    n: other("after"),
    ",": by("cycle", -1),
    ".": by("cycle", 1),
    r: using((player) => player.play(1)),
    e: using((player) => player.end()),
  });
}

// Lets the user go to a cycle by its number.
export function listenToNumbers(player) {
  onGoTo((wanted) => {
    if (player.world) player.to({ cycle: Math.max(1, Math.min(player.head + 1, wanted)) });
  });
}
