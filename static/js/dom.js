// Creates elements from names and text. Text is never parsed as HTML.
const NS = "http://www.w3.org/2000/svg";

export function svg(tag, attributes = {}, text = "") {
  const made = document.createElementNS(NS, tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

export function el(tag, { text, title, ...rest } = {}, ...children) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (title) made.title = title;
  for (const [key, value] of Object.entries(rest)) if (value !== undefined) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
