// @ts-check
// Weights of what scores, in a scheduler's configuration.
import { get, set } from "./values.js";

/**
 * The configuration with another weight of a plugin in a profile; undefined: that of the release. All else stays as it
 * is, where it is.
 * @param {any} config @param {number} profile its place @param {string} name @param {number | string | undefined} weight
 * @param {boolean} appends whether a default that is enabled again has to be disabled, too
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
