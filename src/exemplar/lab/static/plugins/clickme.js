// jsPsych plugin: uncover a drawing for a partner who guesses what it is. The partner is at the server, and so is the judge.

import { make } from "../elements.js";
import { imageAt } from "../images.js";
import { Brush } from "./brush.js";
import { listen } from "./listening.js";

const { ParameterType } = jsPsychModule;
const LOOK_EVERY_MS = 200;
const LAST_LOOKS = 3; // when time is up, before the player goes on without an answer
const EMPTY = "Your partner sees an empty page.";
const LONGEST_SIDE = 420; // CSS pixels

const info = {
  name: "clickme",
  version: "1.0.0",
  parameters: {
    /** Address of a drawing that images.js has decoded, and what it is called. */
    image: { type: ParameterType.STRING },
    name: { type: ParameterType.STRING },
    number: { type: ParameterType.INT },
    of: { type: ParameterType.INT },
    /** Of canvas and brush, in canvas pixels. */
    side: { type: ParameterType.INT, default: 256 },
    brush: { type: ParameterType.INT, default: 21 },
    most_places: { type: ParameterType.INT },
    most_points: { type: ParameterType.INT },
    /** From the first touch. */
    limit_ms: { type: ParameterType.FLOAT, default: 5000 },
    /** Name of a guess → address of its picture, where names say little. */
    pictures: { type: ParameterType.OBJECT, default: {} },
    /** look(places) → {guess, right}, or null where there was no answer. */
    look: { type: ParameterType.FUNCTION },
    /** addPoints(n) → the sum so far. */
    addPoints: { type: ParameterType.FUNCTION },
  },
  data: {
    /** Each [row, column, ms since the first touch], as far as the partner needed them. */
    places: { type: ParameterType.INT, array: true },
    /** pen, mouse or touch: what was painted with last; null where nothing was. */
    pointer: { type: ParameterType.STRING },
    skipped: { type: ParameterType.BOOL },
    timed_out: { type: ParameterType.BOOL },
    duration_ms: { type: ParameterType.FLOAT },
    /** Milliseconds since 1970, by this device's clock: nothing is computed from it. */
    at: { type: ParameterType.INT },
  },
  citations: "__CITATIONS__",
};

export class ClickMe {
  static info = info;

  constructor(jsPsych) {
    this.jsPsych = jsPsych;
  }

  async trial(display, trial, onLoad) {
    const shown = performance.now();
    let finish;
    const finished = new Promise((resolve) => (finish = resolve));
    const brush = new Brush({
      image: imageAt(trial.image),
      side: trial.side,
      size: trial.brush,
      most: trial.most_places,
      onFirst: (at) => this.#play(brush, trial, at, page, finish),
      allows: (ms) => !page.over && ms <= trial.limit_ms,
    });
    const page = this.#page(trial, brush, () => finish({ skipped: true, timed_out: false, n: brush.places.length }));
    display.replaceChildren(page.root);
    this.#fit(page.root, brush);
    onLoad();
    this.onShown?.(brush);

    const { skipped, timed_out, n, right = null } = await finished;
    page.over = true;
    const places = brush.places.slice(0, n);
    const data = { places, pointer: brush.pointer, skipped, timed_out, at: Date.now() };
    data.duration_ms = Math.round(10 * (performance.now() - shown)) / 10;
    if (!skipped) await this.#showOutcome(page, trial, right, places);
    return data;
  }

  #page({ name, number, of, limit_ms }, brush, skip) {
    const clock = make("span", { class: "clock", role: "timer" }, `${limit_ms / 1000} s`);
    const guess = make("p", { class: "guess", role: "status" }, EMPTY);
    const outcome = make("p", { class: "outcome", role: "status" });
    const next = make("button", { type: "button", class: "plain", onclick: skip }, "Skip");
    const root = make(
      "div",
      { class: "clickme" },
      make("p", { class: "count" }, `Drawing ${number} of ${of} · `, clock),
      make("h1", {}, name),
      make(
        "div",
        { class: "desk" },
        make("figure", {}, brush.canvas, make("figcaption", {}, "Paint what matters")),
        make("figure", {}, brush.seen, make("figcaption", {}, "What your partner sees")),
      ),
      guess,
      outcome,
      make("p", { class: "buttons" }, next),
    );
    return { root, clock, guess, outcome, next, over: false };
  }

  #fit(root, brush) {
    const fit = () => {
      const narrow = window.innerWidth < 700;
      const wide = (root.clientWidth - 40) * (narrow ? 1 : 0.6);
      const side = Math.max(160, Math.floor(Math.min(LONGEST_SIDE, wide, window.innerHeight * (narrow ? 0.45 : 0.58))));
      brush.canvas.style.width = brush.canvas.style.height = `${side}px`;
      brush.seen.style.width = brush.seen.style.height = `${Math.round(side * (narrow ? 0.35 : 0.5))}px`;
    };
    listen(root, window, ["resize"], () => void fit());
    fit();
  }

  /** From the first touch until the partner is right or time is up. */
  async #play(brush, trial, started, page, finish) {
    const left = () => trial.limit_ms - (performance.now() - started);
    const tick = () => {
      page.clock.textContent = `${(Math.max(0, left()) / 1000).toFixed(1)} s`;
      if (!page.over && left() > 0) this.jsPsych.pluginAPI.setTimeout(tick, 100);
    };
    tick();
    const ask = async () => {
      const n = brush.places.length;
      const said = await trial.look(brush.shown(n));
      if (page.over) return null;
      this.#say(page, trial, said);
      if (said?.right) finish({ skipped: false, timed_out: false, n, right: true });
      return said && n;
    };
    let seen = 0;
    while (!page.over && left() > 0) {
      const began = performance.now();
      if (brush.places.length > seen) seen = (await ask()) ?? seen;
      await sleep(Math.min(Math.max(0, left()), Math.max(20, LOOK_EVERY_MS - (performance.now() - began))));
    }
    for (let tries = 0; !page.over && seen < brush.places.length && tries < LAST_LOOKS; tries++) {
      seen = (await ask()) ?? seen;
      if (seen < brush.places.length) await sleep(LOOK_EVERY_MS);
    }
    const right = seen < brush.places.length ? null : false;
    finish({ skipped: false, timed_out: true, n: brush.places.length, right }); // no more than the first one counts
  }

  #say(page, { pictures }, said) {
    if (!said) return page.guess.replaceChildren("Your partner does not answer. Go on: it will look at what you paint.");
    if (!said.guess) return page.guess.replaceChildren(EMPTY);
    const picture = pictures[said.guess];
    page.guess.replaceChildren(
      "Your partner thinks: ",
      make("strong", {}, said.guess),
      ...(picture ? [make("img", { src: picture, alt: "", width: "48", height: "48" })] : []),
    );
  }

  /** What came of it, until the player goes on. */
  async #showOutcome(page, { limit_ms, most_points, addPoints }, right, places) {
    const points = right ? 1 + Math.floor((most_points - 1) * Math.max(0, 1 - places.at(-1)[2] / limit_ms)) : 0;
    const total = addPoints(points);
    const said = { true: `Right! ${points} points.`, false: "Time is up.", null: "Time is up. Your partner will look later." };
    page.outcome.append(make("strong", { class: right ? "won" : "lost" }, said[right]), ` In all: ${total}.`);
    const next = make("button", { type: "button", class: "main" }, "Next");
    const pressed = new Promise((resolve) => next.addEventListener("click", resolve));
    page.next.replaceWith(next);
    next.focus({ preventScroll: true });
    this.onOver?.(next);
    await pressed;
  }

  /** Paints a wave across the middle. Visual: on the real drawing, and presses Next. */
  async simulate(trial, mode, options, onLoad) {
    const path = Array.from({ length: 40 }, (_, k) => [Math.round(128 + 60 * Math.sin(k / 4)), 20 + 5 * k, 40 * k]);
    const imagined = { places: path, pointer: "mouse", skipped: false, timed_out: true, duration_ms: 6000, at: Date.now() };
    const data = this.jsPsych.pluginAPI.mergeSimulationData(imagined, options);
    if (mode === "data-only") {
      onLoad();
      return data;
    }
    this.onShown = (brush) => {
      const began = performance.now();
      for (const [row, column, ms] of path) brush.strokeTo(row, column, began + ms);
    };
    this.onOver = (next) => this.jsPsych.pluginAPI.clickTarget(next, 200);
    return this.trial(this.jsPsych.getDisplayElement(), trial, onLoad);
  }
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
