// <moving-picture>: moments of a lesson's run, which the student goes through with one button
// (templates/parts/lesson_moving_picture.html). A map or the parts of the queue show the current one, if it has them.
const MAIN = ["active", "backoff", "unschedulable", "bound"]; // parts that are shown even if no pod enters them
const LASTS = 450; // milliseconds that a pod moves between parts of the queue
const calm = matchMedia("(prefers-reduced-motion: reduce)");

class MovingPicture extends HTMLElement {
  focus = {}; // as of a player: nothing is selected
  at = -1;

  connectedCallback() {
    if (this.at >= 0) return; // it was moved
    this.moments = [...this.querySelectorAll("[data-moment]")];
    this.map = this.querySelector("stage-map");
    const data = JSON.parse(this.querySelector("script").textContent);
    this.states = data.moments;
    this.follow = document.getElementById("go-after") ?? document.querySelector(".lesson-way [rel=next]");
    if (this.follow?.rel !== "next") this.follow = null;
    this.follows = this.follow?.id;
    this.querySelector("[data-way]").hidden = false;
    this.addEventListener("click", ({ target }) => {
      const by = Number(target.closest("[data-by]")?.dataset.by ?? 0);
      if (by) this.go("", by);
    });
    this.show(0);
    if (data.stretch) this.showQueue(data.stretch);
  }

  async showQueue(stretch) {
    const [{ LaneRows }, { Stretch }] = await Promise.all([
      import("../timeline/queue_rows.js"),
      import("../timeline/time_window.js"),
    ]);
    const box = this.querySelector("[data-lanes]");
    box.hidden = false;
    this.stretch = new Stretch(stretch);
    this.rows = new LaneRows(box, stretch.lanes.slice(0, -1));
    const used = new Set([...MAIN, ...stretch.moves.lane.map((lane) => stretch.lanes[lane])]);
    for (const row of box.querySelectorAll("[data-lane]")) row.hidden = !used.has(row.dataset.lane);
    this.draw();
  }

  show(at) {
    this.at = at;
    const last = at === this.moments.length - 1;
    for (const [index, moment] of this.moments.entries()) moment.hidden = index !== at;
    const [back, next] = this.querySelectorAll("[data-by]");
    back.disabled = at === 0;
    next.disabled = last;
    this.querySelector("[data-at]").textContent = `${at + 1} of ${this.moments.length}`;
    // What leads to the next step of the lesson comes after the last moment, also for the keys of a presentation.
    this.follow?.classList.toggle("primary", last);
    next.classList.toggle("primary", !last);
    if (this.follows) {
      next.id = last ? "" : this.follows;
      this.follow.id = last ? this.follows : "";
    }
    this.draw();
  }

  draw() {
    const state = this.states[this.at];
    this.map?.player?.to(state, { animate: true });
    if (!this.rows) return;
    const places = () => new Map([...this.querySelectorAll(".chip")].map((chip) => [chip.textContent, chip]));
    const before = new Map([...places()].map(([pod, chip]) => [pod, chip.getBoundingClientRect()]));
    const { t, seq } = state;
    const { moves } = this.stretch;
    const index = moves.seq.indexOf(seq);
    const moved = index < 0 ? [] : [[moves.lane[index], new Set([moves.pod[index]])]];
    this.rows.show(this.stretch, this.stretch.at(t, seq), new Map(moved), t);
    if (calm.matches) return;
    for (const [pod, chip] of places()) {
      const [was, is] = [before.get(pod), chip.getBoundingClientRect()];
      if (!was || (was.x === is.x && was.y === is.y)) continue;
      const from = `translate(${was.x - is.x}px, ${was.y - is.y}px)`;
      chip.animate([{ transform: from }, { transform: "none" }], { duration: LASTS, easing: "ease" });
    }
  }

  // ---- as a player, for the keys of the page

  go(_, by) {
    const at = this.at + by;
    if (at >= 0 && at < this.moments.length) this.show(at);
  }

  end() {
    this.show(this.moments.length - 1);
  }

  pause() {}

  play() {
    this.go("", 1);
  }

  to() {}
}

customElements.define("moving-picture", MovingPicture);
