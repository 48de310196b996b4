// @ts-check
// Score weights in a scheduler configuration.
import { get, set } from "./values.js";

/**
 * Return the configuration with another weight of a plugin in a profile. Undefined restores the release's weight. All
 * else, including its order, is unchanged.
 * @param {any} config @param {number} profile index @param {string} name @param {number | string | undefined} weight
 * @param {boolean} appends whether enabling a default plugin again requires disabling it as well
 */
export function weighed(config, profile, name, weight, appends) {
  const score = ["profiles", profile, "plugins", "score"];
  const entry = weight === undefined ? undefined : { name, weight };
  const now = put(config, [...score, "enabled"], name, entry);
  return appends ? put(now, [...score, "disabled"], name, entry && { name }) : now;
}

/** @param {any} config @param {(string | number)[]} path of a list @param {string} name @param {any} entry */
function put(config, path, name, entry) {
  /** @type {any[]} */
  const list = get(config, path) ?? [];
  const at = list.findIndex((one) => one?.name === name);
  const now = list.filter((one, index) => index === at || one?.name !== name);
  if (at < 0 && entry) now.push(entry);
  else if (at >= 0) now.splice(at, 1, ...(entry ? [entry] : []));
  return set(config, path, now.length ? now : undefined);
}
