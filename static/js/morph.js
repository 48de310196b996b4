// Changes an element into a newer version of it and keeps what the user did there: focus, scroll position, open
// details, text in fields.

const FIELD = "input, select, textarea";
const KEPT = { DETAILS: ["open"], DIV: ["data-beyond", "tabindex", "role", "aria-label"] }; // set by the browser and scroll.js

// Two elements are versions of the same one if they have the same key, or if neither has one. Forms that post to other
// addresses are different: a focused button must not become the button of another action.
const keyOf = (node) =>
  node.nodeType === Node.ELEMENT_NODE ? node.id || node.dataset.key || node.getAttribute("action") || "" : "";
const alike = (a, b) => a.nodeName === b.nodeName && keyOf(a) === keyOf(b);

function setAttributes(old, now) {
  const kept = KEPT[old.nodeName] ?? [];
  for (const { name } of [...old.attributes])
    if (!now.hasAttribute(name) && !kept.includes(name)) old.removeAttribute(name);
  for (const { name, value } of now.attributes)
    if (old.getAttribute(name) !== value && !kept.includes(name)) old.setAttribute(name, value);
}

// Changes the children of `old` into those of `now`. Charts, and the field that has the focus, stay as they are.
export function morph(old, now) {
  const keyed = new Map([...old.children].reverse().map((child) => [keyOf(child), child]));
  const wanted = new Set([...now.children].map(keyOf).filter(Boolean));
  let place = old.firstChild;
  const skip = () => {
    const next = place.nextSibling;
    place.remove();
    place = next;
  };
  for (const fresh of [...now.childNodes]) {
    const key = keyOf(fresh);
    const same = key ? keyed.get(key) : place;
    keyed.delete(key); // each is used once, also if several have the key
    if (!same || !alike(same, fresh)) {
      old.insertBefore(fresh, place);
      continue;
    }
    while (place && place !== same && !wanted.has(keyOf(place))) skip(); // a moved element would lose the focus
    if (same === place) place = place.nextSibling;
    else old.insertBefore(same, place);
    if (same.nodeType !== Node.ELEMENT_NODE) {
      if (same.data !== fresh.data) same.data = fresh.data;
    } else if (!same.matches("[data-chart]") && !(same === document.activeElement && same.matches(FIELD))) {
      setAttributes(same, fresh);
      morph(same, fresh);
    }
  }
  while (place) skip();
}
