// @ts-check
// The progress in the course as text in browser storage: {"name": [2, 3]}, the steps answered correctly.

export const KEY = "kubesched.lessons";

/**
 * Version 1.0.0 stored names with a number, such as "07-topology-spread".
 * @param {string | null} text @returns {Record<string, number[]>}
 */
function read(text) {
  try {
    const found = JSON.parse(text ?? "{}");
    if (!found || typeof found !== "object" || Array.isArray(found)) return {};
    const names = Object.entries(found).map(([name, steps]) => [name.replace(/^\d\d-/, ""), steps]);
    return Object.fromEntries(names);
  } catch {
    return {};
  }
}

/** Return the completed steps of a lesson. @param {string | null} text @param {string} lesson @returns {number[]} */
export function done(text, lesson) {
  const found = read(text)[lesson];
  return Array.isArray(found) ? found.filter((step) => Number.isInteger(step)) : [];
}

/**
 * Return the text with one more completed step.
 * @param {string | null} text @param {string} lesson @param {number} step
 */
export function note(text, lesson, step) {
  const steps = new Set([...done(text, lesson), step]);
  return JSON.stringify({ ...read(text), [lesson]: [...steps].sort((a, b) => a - b) });
}

/**
 * Whether all questions of a lesson are answered.
 * @param {string | null} text @param {string} lesson @param {number} questions
 */
export function finished(text, lesson, questions) {
  return questions > 0 && done(text, lesson).length >= questions;
}

/**
 * Return a summary of the course, and the first unfinished lesson.
 * @param {string | null} text @param {{name: string, questions: number}[]} lessons
 * @returns {{text: string, next: string}}
 */
export function summary(text, lessons) {
  const right = lessons.reduce((sum, one) => sum + done(text, one.name).length, 0);
  const over = lessons.filter((one) => finished(text, one.name, one.questions)).length;
  const next = lessons.find((one) => !finished(text, one.name, one.questions))?.name ?? "";
  if (!right) return { text: "", next };
  const all = lessons.reduce((sum, one) => sum + one.questions, 0);
  return { text: `${right} of ${all} questions answered, ${over} of ${lessons.length} lessons finished`, next };
}
