// Time as the display counts it: in frames. Time stamps are requestAnimationFrame's, in ms, and never go backwards.

const N_MEASURED = 60;

/** The time stamp of the next frame. What is drawn in the same tick appears with that frame. */
export const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));

/**
 * Waits until `ms` have passed since the frame at `start`, to the nearest frame, and returns the time stamps of all frames from
 * `start` to the one that ends it. By time and not by counting, so that a dropped frame does not lengthen what is shown.
 */
export async function framesFor(start, ms, frame_ms) {
  const stamps = [start];
  while (stamps.at(-1) - start < ms - frame_ms / 2) stamps.push(await nextFrame());
  return stamps;
}

/** How many frames the display had between these time stamps that the page did not get. */
export function countDropped(stamps, frame_ms) {
  const had = Math.round((stamps.at(-1) - stamps[0]) / frame_ms);
  return Math.max(0, had - (stamps.length - 1));
}

/**
 * Frames per second over about one second: nobody's display is assumed to have 60 Hz. The median interval says how many
 * frames lie between two time stamps, should some have been dropped; all together are more exact than the clock's 0.1 ms.
 */
export async function measureRefresh() {
  const stamps = [await nextFrame()];
  while (stamps.length <= N_MEASURED) stamps.push(await nextFrame());
  const intervals = stamps.slice(1).map((stamp, i) => stamp - stamps[i]);
  const median = [...intervals].sort((a, b) => a - b)[intervals.length / 2];
  const n_frames = intervals.reduce((n, interval) => n + Math.round(interval / median), 0);
  return Math.round((100000 * n_frames) / (stamps.at(-1) - stamps[0])) / 100;
}
