// Creates elements. Strings become text and are never parsed as HTML; undefined attributes are left out.

export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

// `text`: the first child.
export function el(tag, { text = "", title, ...attributes } = {}, ...children) {
  return filled(document.createElement(tag), { ...attributes, title: title || undefined }, [text, ...children]);
}

// Returns a button that does not submit a form.
export const button = (text, attributes, ...children) =>
  el("button", { type: "button", ...attributes, text }, ...children);

function filled(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(key, value);
  element.append(...children.filter((child) => (child ?? "") !== ""));
  return element;
}

// Calls a function once, when an element comes into view.
export function whenVisible(element, begin, rootMargin = "0px") {
  const observer = new IntersectionObserver(
    (entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      observer.disconnect();
      begin();
    },
    { rootMargin },
  );
  observer.observe(element);
}
