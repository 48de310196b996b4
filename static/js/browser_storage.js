// Texts in browser storage, which may be unavailable; then nothing is stored.

// `kind`: localStorage, or sessionStorage. Returns null for no text.
export function stored(key, kind = "localStorage") {
  try {
    return globalThis[kind].getItem(key);
  } catch {
    return null;
  }
}

// Stores a text; null removes it.
export function store(key, text, kind = "localStorage") {
  try {
    if (text === null) globalThis[kind].removeItem(key);
    else globalThis[kind].setItem(key, text);
  } catch {
    // unavailable or full
  }
}
