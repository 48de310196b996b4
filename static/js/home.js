// The first page: who has begun the course is shown where to go on. The course is asked for only then.
import { KEY, kept, summary } from "./lesson_progress.js";

const card = document.getElementById("learn-on");
const text = kept(KEY);

async function goOn() {
  const link = card.querySelector("[data-continue]");
  const response = await fetch(link.href);
  const course = new DOMParser().parseFromString(await response.text(), "text/html");
  const rows = [...course.querySelectorAll("[data-lesson]")];
  const lessons = rows.map(({ dataset }) => ({ name: dataset.lesson, questions: Number(dataset.questions) }));
  const { text: said, next } = summary(text, lessons);
  const row = rows.find(({ dataset }) => dataset.lesson === next);
  if (!said || !row) return;
  const lesson = row.querySelector("a");
  link.href = lesson.getAttribute("href");
  link.textContent = "Continue the course";
  card.querySelector("[data-progress]").textContent = `${said}. Next: ${lesson.textContent.trim()}.`;
}

if (text) goOn().catch(() => {}); // then the link leads to the course
