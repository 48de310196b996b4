// @ts-check
// What somebody has done of the course, as text that a browser keeps: {"01-name": [2, 3]}, the steps answered rightly.

export const KEY = "kubesched.lessons";

/** What the browser keeps under a key; null where there is nothing or it keeps nothing. @param {string} key */
export function kept(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** @param {string | null} text @returns {Record<string, number[]>} */
function read(text) {
  try {
    const found = JSON.parse(text ?? "{}");
    return found && typeof found === "object" && !Array.isArray(found) ? found : {};
  } catch {
    return {};
  }
}

/** The steps of a lesson that are done. @param {string | null} text @param {string} lesson @returns {number[]} */
export function done(text, lesson) {
  const found = read(text)[lesson];
  return Array.isArray(found) ? found.filter((step) => Number.isInteger(step)) : [];
}

/** The text with one step more. @param {string | null} text @param {string} lesson @param {number} step */
export function note(text, lesson, step) {
  const steps = new Set([...done(text, lesson), step]);
  return JSON.stringify({ ...read(text), [lesson]: [...steps].sort((a, b) => a - b) });
}

/** Whether all questions are answered. @param {string | null} text @param {string} lesson @param {number} questions */
export function finished(text, lesson, questions) {
  return questions > 0 && done(text, lesson).length >= questions;
}

/**
 * What to say of the whole course, and the first lesson that is not finished.
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
