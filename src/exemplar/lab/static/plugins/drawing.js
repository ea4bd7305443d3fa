// jsPsych plugin: draw a variation of an exemplar, or a word within a time limit.

import { make } from "../elements.js";
import { DrawingPad } from "./drawing-pad.js";
import { listen } from "./listening.js";

const { ParameterType } = jsPsychModule;

const ASK = {
  copy: "Draw this again, as if you wrote it yourself.",
  creative: "Draw a variation that others would still say is the same.",
};

const info = {
  name: "drawing",
  version: "1.0.0",
  parameters: {
    /** copy, creative or word. */
    instruction: { type: ParameterType.STRING },
    exemplar: { type: ParameterType.STRING, default: null },
    word: { type: ParameterType.STRING, default: null },
    /** Seconds, or null. */
    limit_s: { type: ParameterType.FLOAT, default: null },
    /** Which drawing of this exemplar it is, and of how many. */
    number: { type: ParameterType.INT },
    of: { type: ParameterType.INT },
  },
  data: {
    /** Each a list of [x, y, t]: shares of the side from the top left, and ms since the trial was shown. */
    strokes: { type: ParameterType.COMPLEX, array: true },
    /** pen, mouse or touch: what the last stroke was drawn with. */
    pointer: { type: ParameterType.STRING },
    undone: { type: ParameterType.INT },
    cleared: { type: ParameterType.INT },
    timed_out: { type: ParameterType.BOOL },
    duration_ms: { type: ParameterType.FLOAT },
    /** Milliseconds since 1970, by this device's clock: nothing is computed from it. */
    at: { type: ParameterType.INT },
  },
  citations: "__CITATIONS__",
};

export class Drawing {
  static info = info;

  constructor(jsPsych) {
    this.jsPsych = jsPsych;
  }

  async trial(display, trial, onLoad) {
    const started = performance.now();
    const root = make("div", { class: "drawing" });
    const pad = new DrawingPad({ started, onChange: () => refresh() });
    const button = (label, look, press) => make("button", { type: "button", class: look, onclick: press }, label);
    let finish;
    const finished = new Promise((resolve) => (finish = resolve));
    const undo = button("Undo", "plain", () => pad.undo());
    const clear = button("Clear", "plain", () => pad.clear());
    const done = button("Done", "main", () => finish(false));
    const status = make("p", { class: "status", role: "status" });
    const refresh = () => {
      undo.disabled = clear.disabled = done.disabled = pad.isEmpty;
      status.textContent = pad.isFull ? "The page is full: press Done, or undo something." : "";
    };
    root.append(...this.#head(trial), make("div", { class: "desk" }, this.#exemplar(trial), pad.canvas), status);
    root.append(make("p", { class: "buttons" }, undo, clear, done));
    display.replaceChildren(root);
    this.#fit(root, pad);
    refresh();
    onLoad();

    const isUndo = (event) => (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z";
    listen(root, window, ["keydown"], (event) => void (isUndo(event) && (event.preventDefault(), pad.undo())));
    if (trial.limit_s !== null) this.#countDown(root.querySelector(".clock"), trial.limit_s, started, finish);
    this.onShown?.(pad, done);
    const timed_out = await finished;
    return {
      strokes: pad.strokes.filter((stroke) => stroke.length),
      pointer: pad.pointer,
      undone: pad.n_undone,
      cleared: pad.n_cleared,
      timed_out,
      duration_ms: Math.round(10 * (performance.now() - started)) / 10,
      at: Date.now(),
    };
  }

  #head({ instruction, word, number, of, limit_s }) {
    const task = instruction === "word" ? `Draw: ${word}` : ASK[instruction];
    const count = make("p", { class: "count" }, `Drawing ${number} of ${of}`);
    if (limit_s !== null) count.append(" · ", make("span", { class: "clock", role: "timer" }, `${limit_s} s`));
    return [count, make("h1", {}, task)];
  }

  #exemplar({ exemplar }) {
    return exemplar ? make("figure", { class: "exemplar" }, make("img", { src: exemplar, alt: "The drawing to vary" })) : null;
  }

  #fit(root, pad) {
    const border = 4 + 2 * parseFloat(getComputedStyle(root).paddingLeft);
    const fit = () => pad.fit(root.clientWidth - border, window.innerHeight * (window.innerWidth < 700 ? 0.55 : 0.62));
    listen(root, window, ["resize"], () => void fit());
    fit();
  }

  /** Ends the trial with whatever is on the paper. */
  #countDown(clock, limit_s, started, finish) {
    const tick = () => {
      const left = limit_s - (performance.now() - started) / 1000;
      clock.textContent = `${Math.max(0, Math.ceil(left))} s`;
      if (left <= 0) finish(true);
      else if (clock.isConnected) this.jsPsych.pluginAPI.setTimeout(tick, Math.min(250, 1000 * left));
    };
    tick();
  }

  /** Draws a wobbly ring and a line. Visual: puts them on the paper and presses Done. */
  async simulate(trial, mode, options, onLoad) {
    const data = this.jsPsych.pluginAPI.mergeSimulationData(imagine(), options);
    if (mode === "data-only") {
      onLoad();
      return data;
    }
    this.onShown = (pad, done) => {
      pad.strokes = data.strokes;
      pad.onChange();
      this.jsPsych.pluginAPI.clickTarget(done, 200);
    };
    return this.trial(this.jsPsych.getDisplayElement(), trial, onLoad);
  }
}

function imagine() {
  const some = (low, high) => low + (high - low) * Math.random();
  const round = (value) => Math.round(10000 * value) / 10000;
  const [x, y, wide, high, turn] = [some(0.4, 0.6), some(0.4, 0.6), some(0.15, 0.3), some(0.15, 0.3), some(0, 6.28)];
  const ring = Array.from({ length: 40 }, (_, i) => {
    const angle = turn + (i / 39) * 6.28;
    return [round(x + wide * Math.cos(angle)), round(y + high * Math.sin(angle)), 300 + 20 * i];
  });
  const line = Array.from({ length: 15 }, (_, i) => [round(x + wide * (i / 14 - 0.5)), round(y), 1500 + 20 * i]);
  return {
    strokes: [ring, line],
    pointer: "mouse",
    undone: 0,
    cleared: 0,
    timed_out: false,
    duration_ms: 2000,
    at: Date.now(),
  };
}
