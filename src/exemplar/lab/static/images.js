// Images are loaded and decoded before a session begins, so that showing one costs nothing.

const TRIES = 3;
const AT_ONCE = 6;
const WAIT_MS = 300;

const decoded = new Map();

/** A decoded image that was loaded before. */
export const imageAt = (address) => decoded.get(address);

/** Loads and decodes; returns the addresses that could not be loaded in three tries. onProgress(share in [0, 1]). */
export async function loadImages(addresses, onProgress = () => {}) {
  const wanted = [...new Set(addresses)];
  for (const address of decoded.keys()) if (!wanted.includes(address)) decoded.delete(address); // an earlier session's
  const missing = [];
  let next = 0;
  let done = 0;
  const work = async () => {
    while (next < wanted.length) {
      const address = wanted[next++];
      if (!decoded.has(address) && !(await load(address))) missing.push(address);
      onProgress(++done / wanted.length);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return missing;
}

async function load(address) {
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    const image = new Image();
    image.src = address;
    try {
      await image.decode();
      decoded.set(address, image);
      return true;
    } catch {
      if (attempt < TRIES) await new Promise((resolve) => setTimeout(resolve, WAIT_MS * attempt));
    }
  }
  return false;
}
