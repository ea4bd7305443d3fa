// jsPsych plugin: one trial of object learning. Dot, image for 200 ms, blank, circles, choice, right or wrong.

import { countDropped, framesFor, nextFrame } from "../frames.js";
import { imageAt } from "../images.js";
import { isKey, listen } from "./listening.js";
import { ObjectStage } from "./object-stage.js";

const { ParameterType } = jsPsychModule;

const info = {
  name: "object-trial",
  version: "1.0.0",
  parameters: {
    /** Address of an image that images.js has decoded. */
    image: { type: ParameterType.STRING },
    /** Side of the image in CSS pixels. */
    image_px: { type: ParameterType.INT },
    /** Which of the choices is right, from 0. */
    right: { type: ParameterType.INT },
    n_choices: { type: ParameterType.INT, default: 2 },
    /** One key per choice. */
    keys: { type: ParameterType.STRING, array: true, default: ["f", "j"] },
    /** Durations in ms: image, blank, limit (for the choice), right (the tick), wrong (the cross), gray. */
    timing: { type: ParameterType.OBJECT },
    /** As frames.js measured it before the session. */
    refresh_hz: { type: ParameterType.FLOAT },
    /** Small text on the start screen, such as the bonus so far. */
    note: { type: ParameterType.STRING, default: "" },
  },
  data: {
    choice: { type: ParameterType.INT },
    timed_out: { type: ParameterType.BOOL },
    /** ms from the first frame of the circles to the key or touch. */
    reaction_time_ms: { type: ParameterType.FLOAT },
    refresh_hz: { type: ParameterType.FLOAT },
    /** Frames that the display had, and the page did not get, while the image was on. */
    dropped_frames: { type: ParameterType.INT },
    /** ms from the frame that showed the image to the frame that removed it. */
    image_ms: { type: ParameterType.FLOAT },
    image_px: { type: ParameterType.INT },
    /** Time stamp of each frame of the image, the last being the frame that removed it. Not sent to the server. */
    frames: { type: ParameterType.FLOAT, array: true },
    /** Milliseconds since 1970, by this device's clock: nothing is computed from it. */
    at: { type: ParameterType.INT },
  },
  citations: "__CITATIONS__",
};

export class ObjectTrial {
  static info = info;

  constructor(jsPsych) {
    this.jsPsych = jsPsych;
  }

  async trial(display, trial, onLoad) {
    const frame_ms = 1000 / trial.refresh_hz;
    const { timing } = trial;
    const stage = new ObjectStage(display, trial);
    onLoad();
    await this.#started(stage);

    const start = await nextFrame();
    stage.showImage(imageAt(trial.image));
    const frames = await framesFor(start, timing.image_ms, frame_ms);
    stage.clear();
    const cue = (await framesFor(frames.at(-1), timing.blank_ms, frame_ms)).at(-1);
    stage.showCircles();

    const { choice, at } = await this.#chosen(stage, trial, cue);
    if (choice !== null) {
      const right = choice === trial.right;
      const shown = await nextFrame();
      stage.showFeedback(right);
      const gray = (await framesFor(shown, right ? timing.right_ms : timing.wrong_ms, frame_ms)).at(-1);
      stage.clear();
      await framesFor(gray, timing.gray_ms, frame_ms);
    }
    return {
      choice,
      timed_out: choice === null,
      reaction_time_ms: choice === null ? null : Math.round(10 * (at - cue)) / 10,
      refresh_hz: trial.refresh_hz,
      dropped_frames: countDropped(frames, frame_ms),
      image_ms: Math.round(10 * (frames.at(-1) - frames[0])) / 10,
      image_px: trial.image_px,
      frames,
      at: Date.now(),
    };
  }

  /** The space bar, or a touch of the dot. */
  #started(stage) {
    return new Promise((resolve) => {
      const ends = [];
      const start = (event) => {
        event.preventDefault(); // the space bar would scroll, or press a button that has the focus
        ends.forEach((end) => end());
        resolve();
        return true;
      };
      ends.push(listen(stage.root, window, ["keydown"], (event) => event.key === " " && !event.repeat && start(event)));
      ends.push(listen(stage.root, stage.dot, ["pointerdown", "click"], start));
    });
  }

  /** A key or a touch of a circle from the circles' first frame (`cue`) on; choice null after `limit_ms`. */
  #chosen(stage, trial, cue) {
    return new Promise((resolve) => {
      const ends = [];
      const choose = (choice, at) => {
        ends.forEach((end) => end());
        resolve({ choice, at });
        return true;
      };
      const press = (event) => {
        const choice = trial.keys.findIndex((key) => isKey(event, key));
        return choice >= 0 && choice < trial.n_choices && event.timeStamp >= cue && choose(choice, event.timeStamp);
      };
      ends.push(listen(stage.root, window, ["keydown"], press));
      stage.circles.forEach((circle, choice) => {
        const touch = (event) => event.timeStamp >= cue && choose(choice, event.timeStamp);
        ends.push(listen(stage.root, circle, ["pointerdown", "click"], touch));
      });
      const left = trial.timing.limit_ms - (performance.now() - cue);
      const timer = this.jsPsych.pluginAPI.setTimeout(() => choose(null, null), Math.max(0, left));
      ends.push(() => clearTimeout(timer));
      this.onCue?.();
    });
  }

  /** A learner who is right three times in four. Visual: the same, by real key presses on the real trial. */
  async simulate(trial, mode, options, onLoad) {
    const data = this.#imagine(trial, options);
    if (mode === "data-only") {
      onLoad();
      return data;
    }
    const api = this.jsPsych.pluginAPI;
    this.onCue = () => data.choice !== null && api.pressKey(trial.keys[data.choice], data.reaction_time_ms);
    const done = this.trial(this.jsPsych.getDisplayElement(), trial, onLoad);
    api.pressKey(" ", 100);
    return done;
  }

  #imagine(trial, options) {
    const { randomization } = this.jsPsych;
    const other = (trial.right + 1 + Math.floor(Math.random() * (trial.n_choices - 1))) % trial.n_choices;
    const data = {
      choice: randomization.sampleBernoulli(0.75) ? trial.right : other,
      timed_out: false,
      reaction_time_ms: Math.round(randomization.sampleExGaussian(350, 50, 1 / 150, true)),
      refresh_hz: trial.refresh_hz,
      dropped_frames: 0,
      image_ms: trial.timing.image_ms,
      image_px: trial.image_px,
      frames: [],
      at: Date.now(),
    };
    return this.jsPsych.pluginAPI.mergeSimulationData(data, options);
  }
}
