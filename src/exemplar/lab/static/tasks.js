// What each type of experiment needs to run in this browser. A new type of task is one plugin and one entry here.

import { readDisplay } from "./memory.js";
import { ClickMe } from "./plugins/clickme.js";
import { Drawing } from "./plugins/drawing.js";
import { ObjectTrial } from "./plugins/object-trial.js";
import { Turing } from "./plugins/turing.js";

const CM_PER_INCH = 2.54;
const CSS_PX_PER_INCH = 96;

/**
 * plugin: a jsPsych plugin; images(trial, plan): addresses to decode before the session; parameters(plan, trial, i, state): the
 * plugin's parameters; answer: the fields of its data that the server is sent; timed: whether frames count, so that refresh
 * rate and size of the screen are measured.
 */
export const TASKS = {
  learning: {
    plugin: ObjectTrial,
    timed: true,
    reminder: "The screen will be gray. Press the space bar, or touch the dot, to see each image; then choose a circle.",
    images: (trial) => [trial.image],
    parameters: (plan, trial, i, state) => ({
      image: trial.image,
      right: trial.right,
      n_choices: plan.n_choices,
      keys: plan.keys,
      timing: plan.timing,
      image_px: imageSide(plan.degrees),
      refresh_hz: state.refresh_hz,
      note: () => state.bonusText(), // jsPsych asks when the trial begins
    }),
    answer: ["choice", "timed_out", "reaction_time_ms", "refresh_hz", "dropped_frames", "image_ms", "image_px", "at"],
  },
  drawing: {
    plugin: Drawing,
    timed: false,
    reminder: "Draw with a pen, the mouse or a finger. You can undo strokes or clear the page before you press Done.",
    images: (trial) => (trial.exemplar ? [trial.exemplar] : []),
    parameters: (plan, trial) => ({ instruction: plan.instruction, limit_s: plan.limit_s ?? null, ...trial }),
    answer: ["strokes", "pointer", "undone", "cleared", "timed_out", "duration_ms", "at"],
  },
  turing: {
    plugin: Turing,
    timed: false,
    reminder: "Choose with the keys F (left) and J (right), or by clicking on a drawing.",
    images: (trial) => [trial.left, trial.right, ...(trial.exemplar ? [trial.exemplar] : [])],
    parameters: (plan, trial, i) => ({ ...trial, number: i + 1, of: plan.trials.length }),
    answer: ["choice", "reaction_time_ms", "at"],
  },
  clickme: {
    plugin: ClickMe,
    timed: false,
    reminder: "Paint over what matters, with the mouse, a pen or a finger. Time runs from your first touch of each drawing.",
    images: (trial, plan) => [trial.image, ...Object.values(plan.pictures)],
    parameters: ({ side, brush, most_places, most_points, limit_ms, pictures, trials }, trial, i, state) => ({
      ...{ side, brush, most_places, most_points, limit_ms, pictures },
      ...{ ...trial, number: i + 1, of: trials.length, addPoints: state.addPoints },
      look: (places) => state.look(i, places),
    }),
    answer: ["places", "pointer", "skipped", "timed_out", "duration_ms", "at"],
  },
};

/** Phones are held closer than screens stand. */
export const viewingDistanceCm = () => (Math.min(screen.width, screen.height) < 500 ? 30 : 50);

/** Side in CSS pixels of an image of this many degrees, at the stated distance; never larger than the window. */
export function imageSide(degrees) {
  const px_per_cm = readDisplay()?.px_per_cm ?? CSS_PX_PER_INCH / CM_PER_INCH;
  const cm = 2 * viewingDistanceCm() * Math.tan((degrees / 2) * (Math.PI / 180));
  return Math.round(Math.min(cm * px_per_cm, 0.9 * window.innerWidth, 0.9 * window.innerHeight));
}
