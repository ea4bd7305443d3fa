// jsPsych plugin: which of two drawings did a person make? No feedback.

import { make } from "../elements.js";
import { nextFrame } from "../frames.js";
import { isKey, listen } from "./listening.js";

const { ParameterType } = jsPsychModule;
const KEYS = ["f", "j"];

const info = {
  name: "turing",
  version: "1.0.0",
  parameters: {
    left: { type: ParameterType.STRING },
    right: { type: ParameterType.STRING },
    /** The drawing both were made from, or null. */
    exemplar: { type: ParameterType.STRING, default: null },
    number: { type: ParameterType.INT },
    of: { type: ParameterType.INT },
  },
  data: {
    /** 0: the left one, 1: the right one. */
    choice: { type: ParameterType.INT },
    /** ms from the first frame of the drawings. */
    reaction_time_ms: { type: ParameterType.FLOAT },
    /** Milliseconds since 1970, by this device's clock: nothing is computed from it. */
    at: { type: ParameterType.INT },
  },
  citations: "__CITATIONS__",
};

export class Turing {
  static info = info;

  constructor(jsPsych) {
    this.jsPsych = jsPsych;
  }

  async trial(display, trial, onLoad) {
    const sides = [
      ["Left drawing", trial.left],
      ["Right drawing", trial.right],
    ].map(([name, address], choice) =>
      make(
        "button",
        { type: "button", class: "drawn", "aria-label": `${name}, key ${KEYS[choice].toUpperCase()}` },
        make("img", { src: address, alt: "", draggable: "false", decoding: "sync" }),
        make("kbd", {}, KEYS[choice].toUpperCase()),
      ),
    );
    const root = make("div", { class: "turing" }, ...this.#head(trial));
    display.replaceChildren(root);
    onLoad();
    const shown = await nextFrame();
    root.append(make("div", { class: "pair" }, sides)); // with the frame from which the reaction time counts
    const { choice, at } = await this.#chosen(root, sides, shown);
    return { choice, reaction_time_ms: Math.round(10 * (at - shown)) / 10, at: Date.now() };
  }

  #head({ number, of, exemplar }) {
    const above = [
      make("p", { class: "count" }, `Pair ${number} of ${of}`),
      make("h1", {}, "Which of these two did a person draw?"),
    ];
    if (!exemplar) return above;
    const image = make("img", { src: exemplar, alt: "The drawing that both were asked to vary" });
    return [...above, make("figure", { class: "exemplar" }, image, make("figcaption", {}, "Both are variations of this one"))];
  }

  #chosen(root, sides, shown) {
    return new Promise((resolve) => {
      const choose = (choice, event) => {
        if (event.timeStamp < shown) return false;
        resolve({ choice, at: event.timeStamp });
        return true;
      };
      const press = (event) => {
        const choice = KEYS.findIndex((key) => isKey(event, key));
        return choice >= 0 && choose(choice, event);
      };
      listen(root, window, ["keydown"], press);
      sides.forEach((side, choice) => listen(root, side, ["click"], (event) => choose(choice, event)));
      this.onCue?.(sides);
    });
  }

  async simulate(trial, mode, options, onLoad) {
    const { randomization, pluginAPI } = this.jsPsych;
    const imagined = {
      choice: randomization.sampleBernoulli(0.5),
      reaction_time_ms: Math.round(randomization.sampleExGaussian(1200, 200, 1 / 400, true)),
      at: Date.now(),
    };
    const data = pluginAPI.mergeSimulationData(imagined, options);
    if (mode === "data-only") {
      onLoad();
      return data;
    }
    this.onCue = () => pluginAPI.pressKey(KEYS[data.choice], data.reaction_time_ms);
    return this.trial(this.jsPsych.getDisplayElement(), trial, onLoad);
  }
}
