// @ts-check
// Numbers as pages say them.
const number = new Intl.NumberFormat("en");

/**
 * "1 node", "1,200 nodes".
 * @param {number} count
 * @param {string} one
 */
export const counted = (count, one) => `${number.format(count)} ${one}${count === 1 ? "" : "s"}`;
