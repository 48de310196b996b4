// Lessons: checks answers without reloading the page, and stores the progress only in this browser.
import { store, stored } from "./browser_storage.js";
import { done, finished, KEY, note, summary } from "./lesson_progress.js";
import { beginWalks } from "./object_flow.js";
import { fetchPage } from "./requests.js";

const REVEALED = "kubesched.revealed"; // the steps whose answers were revealed, in the same format

// ---- one lesson

function showDone() {
  const lesson = document.getElementById("lesson");
  if (!lesson) return;
  const steps = done(stored(KEY), lesson.dataset.lesson);
  for (const link of lesson.querySelectorAll(".lesson-steps a")) {
    link.toggleAttribute("data-done", steps.includes(Number(link.dataset.step)));
  }
}

function noteStep() {
  const lesson = document.getElementById("lesson");
  if (!lesson) return;
  const [name, step] = [lesson.dataset.lesson, Number(lesson.dataset.step)];
  if (lesson.hasAttribute("data-right")) store(KEY, note(stored(KEY), name, step));
  if (lesson.hasAttribute("data-revealed")) store(REVEALED, note(stored(REVEALED), name, step));
  const again = lesson.querySelector("[data-again]");
  if (again) again.hidden = !done(stored(REVEALED), name).includes(step);
  showDone();
  fold(lesson);
  scrollMachines(lesson);
  beginWalks();
}

// On a phone, the question follows soon after the text: what can be folded is closed.
function fold(lesson) {
  if (!matchMedia("(max-width: 700px)").matches) return;
  for (const one of lesson.querySelectorAll(".machine-place, .lesson-picture details")) one.open = false;
}

// Scrolls the pictures of kube-scheduler that are wider than the page to their first highlighted part.
function scrollMachines(root) {
  for (const box of root.querySelectorAll(".machine-box")) {
    const lit = box.querySelector(".machine-part.lit");
    if (lit) box.scrollLeft += lit.getBoundingClientRect().left - box.getBoundingClientRect().left - 16;
  }
}

async function send(form, button) {
  const body = new URLSearchParams(new FormData(form, button));
  form.setAttribute("aria-busy", "true");
  let fresh = null;
  try {
    const gets = form.method === "get";
    const page = gets ? fetchPage(`${form.action}?${body}`) : fetchPage(form.action, { method: "POST", body });
    fresh = (await page).getElementById("lesson");
  } catch {
    // submit the form normally instead
  }
  if (!fresh) {
    form.submit();
    return;
  }
  const places = [...form.querySelectorAll("select")].map((select) => select.value);
  document.getElementById("lesson").replaceWith(fresh);
  fresh.querySelectorAll("#question select").forEach((select, at) => {
    select.value = places[at];
  });
  noteStep();
  const verdict = document.getElementById("verdict");
  (verdict ?? fresh.querySelector("h2"))?.focus({ preventScroll: true });
  verdict?.scrollIntoView({ block: "nearest" });
}

document.addEventListener("submit", (event) => {
  const form = event.target.closest("#question");
  if (!form) return;
  event.preventDefault();
  send(form, event.submitter);
});

// ---- the course

function showCourse() {
  const course = document.getElementById("course");
  if (!course) return;
  const lessons = [...course.querySelectorAll("[data-lesson]")].map((row) => ({
    row,
    name: row.dataset.lesson,
    questions: Number(row.dataset.questions),
  }));
  for (const { row, name, questions } of lessons) {
    const steps = done(stored(KEY), name);
    row.toggleAttribute("data-finished", finished(stored(KEY), name, questions));
    if (steps.length) row.querySelector("[data-done]").textContent = `${steps.length} of ${questions} done`;
  }
  const { text, next } = summary(stored(KEY), lessons);
  for (const chapter of course.querySelectorAll(".chapter")) {
    const rows = lessons.filter(({ row }) => chapter.contains(row));
    const ready = rows.filter(({ row }) => row.hasAttribute("data-finished")).length;
    if (ready) chapter.querySelector("[data-chapter-done]").textContent = `, ${ready} done`;
    if (text && next) chapter.open = rows.some(({ name }) => name === next);
  }
  course.querySelector("[data-progress]").textContent = text;
  course.querySelector("[data-forget]").hidden = !text;
  const link = course.querySelector("[data-continue]");
  if (link && text && next) {
    link.href = lessons.find((one) => one.name === next).row.querySelector("a").href;
    link.textContent = "Continue the course";
  }
}

document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-forget]")) return;
  store(KEY, null);
  store(REVEALED, null);
  location.reload();
});

// A picture in a closed part of the course has no size before the part opens.
document.addEventListener("toggle", ({ target }) => scrollMachines(target), true);

noteStep();
showCourse();
