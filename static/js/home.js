// Home page: shows users who have started the course how to continue. The course is fetched only for them.
import { stored } from "./browser_storage.js";
import { KEY, summary } from "./lesson_progress.js";
import { fetchPage } from "./requests.js";

const card = document.getElementById("learn-on");
const progress = stored(KEY);

async function goOn() {
  const link = card.querySelector("[data-continue]");
  const course = await fetchPage(link.href);
  const rows = [...course.querySelectorAll("[data-lesson]")];
  const lessons = rows.map(({ dataset }) => ({ name: dataset.lesson, questions: Number(dataset.questions) }));
  const { text, next } = summary(progress, lessons);
  const row = rows.find(({ dataset }) => dataset.lesson === next);
  if (!text || !row) return;
  const lesson = row.querySelector("a");
  link.href = lesson.getAttribute("href");
  link.textContent = "Continue the course";
  card.querySelector("[data-progress]").textContent = `${text}. Next: ${lesson.textContent.trim()}.`;
}

if (progress) goOn().catch(() => {}); // on failure, the link still leads to the course
