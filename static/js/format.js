// @ts-check
// Number formats of pages.
export const number = new Intl.NumberFormat("en");

/** Format a count with its noun: "1 node", "1,200 nodes". @param {number} count @param {string} one */
export const counted = (count, one) => `${number.format(count)} ${one}${count === 1 ? "" : "s"}`;
