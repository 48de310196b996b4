// @ts-check
// Short node names: what all names have in common is shown once, and the characters that differ are never cut.

const LEAST = 4; // characters of a suffix that are worth removing

/**
 * Return the common end of names, from a dot or hyphen on, and the common beginning of what is left; "" for none.
 * @param {string[]} names @returns {{ suffix: string, prefix: string }}
 */
export function commonParts(names) {
  if (names.length < 2) return { suffix: "", prefix: "" };
  const reversed = names.map((name) => [...name].reverse().join(""));
  const end = [...shared(reversed)].reverse().join("");
  const boundary = end.search(/[.-]/);
  const suffix = boundary < 0 || end.length - boundary < LEAST ? "" : end.slice(boundary);
  if (names.some((name) => name.length === suffix.length)) return { suffix: "", prefix: shared(names) };
  return { suffix, prefix: shared(names.map((name) => name.slice(0, name.length - suffix.length))) };
}

/** Return the common beginning. @param {string[]} names */
function shared(names) {
  let first = names[0];
  for (const name of names) while (!name.startsWith(first)) first = first.slice(0, -1);
  return first;
}

/**
 * Return the forms of a name, from the longest to the shortest: without the common end, then without the common
 * beginning.
 * @param {string} name @param {{ suffix: string, prefix: string }} common @returns {string[]}
 */
export function forms(name, { suffix, prefix }) {
  const own = suffix && name.endsWith(suffix) ? name.slice(0, -suffix.length) : name;
  const rest = own.slice(prefix.length);
  return prefix && rest && own.startsWith(prefix) ? [own, `…${rest}`, rest] : [own];
}
