// Listeners that end with the trial they belong to.

/**
 * Calls handler(event) for events of these types until it returns true, or `root` is no longer on the page. Keys are listened
 * to on the whole window and before anyone else, so that it does not matter what has the focus.
 */
export function listen(root, target, types, handler) {
  const stop = new AbortController();
  const hear = (event) => {
    if (!root.isConnected || handler(event)) stop.abort();
  };
  for (const type of types) target.addEventListener(type, hear, { capture: true, signal: stop.signal });
  return () => stop.abort();
}

/** Whether a key was pressed, by what is printed on it or, where the layout is not Latin, by where it is. */
export function isKey(event, key) {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey) return false;
  return event.key.toLowerCase() === key || event.code === `Key${key.toUpperCase()}`;
}
