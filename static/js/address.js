// The query of the page's URL, which contains what the page shows.

export const param = (key) => new URL(location.href).searchParams.get(key);

// Returns an address with other query parameters; undefined and null remove one.
export function withParams(changes, from = location.href) {
  const address = new URL(from, location.href);
  for (const [key, value] of Object.entries(changes))
    if (value === undefined || value === null) address.searchParams.delete(key);
    else address.searchParams.set(key, value);
  return address;
}

// Adds a history entry. `own`: partial_update.js leaves the entry to the page's own scripts.
export const pushAddress = (address) => history.pushState({ own: true }, "", address);

// Changes the query of the current history entry.
export const replaceParams = (changes, state = history.state) => history.replaceState(state, "", withParams(changes));

// Copies the values of these query parameters from the page to a link.
export function keepParams(link, keys) {
  link.href = withParams(Object.fromEntries(keys.map((key) => [key, param(key)])), link.href).href;
}
