// What an object trial draws on: uniform gray with a dot, the image, circles, a tick or a cross in its centre.

import { make } from "../elements.js";

const HINT_AFTER_MS = 4000;
const TICK = "M20 54 L42 76 L82 26";
const CROSS = "M24 24 L76 76 M76 24 L24 76";

export class ObjectStage {
  constructor(display, { image_px, n_choices, keys, note }) {
    this.side = image_px;
    this.canvas = make("canvas", { class: "image" });
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = this.canvas.height = Math.round(image_px * scale);
    this.canvas.style.width = this.canvas.style.height = `${image_px}px`;
    this.pen = this.canvas.getContext("2d");
    this.pen.imageSmoothingQuality = "high";

    this.dot = make("button", { type: "button", class: "fixation", "aria-label": "Start the trial" });
    this.note = make("p", { class: "note" }, note);
    this.circles = place(n_choices, image_px).map(([left, top, diameter], choice) => {
      const circle = make("button", {
        type: "button",
        class: "circle",
        "aria-label": `Choice ${choice + 1}, key ${keys[choice]}`,
      });
      Object.assign(circle.style, { left: `calc(50% + ${left}px)`, top: `calc(50% + ${top}px)` });
      circle.style.width = circle.style.height = `${diameter}px`;
      circle.hidden = true;
      return circle;
    });
    this.mark = make("div", { class: "mark", role: "status" });
    this.root = make("div", { class: "object-trial" }, this.canvas, this.mark, this.circles, this.note, this.dot);
    display.replaceChildren(this.root);
    this.hint = setTimeout(() => (this.note.textContent ||= startHint()), HINT_AFTER_MS);
  }

  /** In the same tick the dot goes and the image comes. */
  showImage(image) {
    clearTimeout(this.hint);
    this.dot.hidden = this.note.hidden = true;
    this.pen.drawImage(image, 0, 0, this.canvas.width, this.canvas.height);
  }

  showCircles() {
    this.circles.forEach((circle) => (circle.hidden = false));
  }

  showFeedback(right) {
    this.circles.forEach((circle) => (circle.hidden = true));
    this.mark.replaceChildren(draw(right ? TICK : CROSS, right ? "right" : "wrong"));
  }

  clear() {
    this.pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.circles.forEach((circle) => (circle.hidden = true));
    this.mark.replaceChildren();
  }
}

/** [left, top, diameter] of each circle from the centre in CSS pixels: evenly along a line below, large enough to touch. */
function place(n, side) {
  const width = Math.min(window.innerWidth * 0.8, side * 1.6 * Math.max(1, n - 1));
  const step = n > 1 ? width / (n - 1) : 0;
  const diameter = Math.max(24, Math.min(Math.max(44, side * 0.32), step ? step * 0.8 : side));
  const top = Math.min(side * 0.75, window.innerHeight / 2 - diameter);
  return Array.from({ length: n }, (_, i) => [
    Math.round(i * step - (n > 1 ? width / 2 : 0)),
    Math.round(top),
    Math.round(diameter),
  ]);
}

function draw(path, kind) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 100 100");
  svg.setAttribute("class", kind);
  svg.setAttribute("aria-label", kind);
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

function startHint() {
  return window.matchMedia("(pointer: coarse)").matches ? "Touch the dot to start" : "Press the space bar to start";
}
