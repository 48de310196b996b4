// Requests to the server.
const HEADERS = { "X-Requested-With": "fetch" };

// Returns the page at an address as a document.
export async function fetchPage(address, options = {}) {
  const response = await fetch(address, { headers: HEADERS, ...options });
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

// Returns the JSON body of a response. Rejects with its error message and other fields, else with `failure`.
export async function fetchJson(address, failure, { headers, ...options } = {}) {
  const all = { ...HEADERS, Accept: "application/json", ...headers };
  const response = await fetch(address, { ...options, headers: all }).catch(() => {
    throw new Error(failure);
  });
  const body = response.status === 204 ? null : await response.json().catch(() => ({}));
  if (response.ok) return body;
  throw Object.assign(new Error(body?.error || failure), body);
}
