// A square of paper to draw on with pen, mouse or finger; strokes are kept with their times.

import { make } from "../elements.js";

const LONGEST_SIDE = 420; // CSS pixels
const LINE = 0.012; // of the side
const MOST_STROKES = 500;
const MOST_POINTS = 20000;

export class DrawingPad {
  /** started: performance.now() when the trial was shown; onChange(): after each stroke, undo or clear. */
  constructor({ started, onChange }) {
    Object.assign(this, { started, onChange, strokes: [], n_undone: 0, n_cleared: 0, pointer: "mouse", active: null });
    this.canvas = make("canvas", { class: "paper", role: "img", "aria-label": "Draw here" });
    this.pen = this.canvas.getContext("2d");
    this.canvas.addEventListener("pointerdown", (event) => this.#begin(event));
    this.canvas.addEventListener("pointermove", (event) => this.#move(event));
    for (const type of ["pointerup", "pointercancel", "lostpointercapture"]) {
      this.canvas.addEventListener(type, (event) => this.#end(event));
    }
  }

  /** Sizes the canvas for the place it has. Coordinates are shares of its side, so a phone that is turned loses nothing. */
  fit(width, height) {
    const side = Math.max(160, Math.floor(Math.min(LONGEST_SIDE, width, height)));
    this.canvas.style.width = this.canvas.style.height = `${side}px`;
    this.canvas.width = this.canvas.height = Math.round(side * (window.devicePixelRatio || 1));
    this.#redraw();
  }

  get isEmpty() {
    return this.strokes.length === 0;
  }

  get nPoints() {
    return this.strokes.reduce((n, stroke) => n + stroke.length, 0);
  }

  get isFull() {
    return this.strokes.length >= MOST_STROKES || this.nPoints >= MOST_POINTS;
  }

  undo() {
    if (this.isEmpty || this.active !== null) return;
    this.strokes.pop();
    this.n_undone += 1;
    this.#redraw();
    this.onChange();
  }

  clear() {
    if (this.isEmpty || this.active !== null) return;
    this.strokes = [];
    this.n_cleared += 1;
    this.#redraw();
    this.onChange();
  }

  /** One pointer at a time: a palm or a second finger draws nothing. */
  #begin(event) {
    if (this.active !== null || event.button !== 0 || this.isFull) return;
    event.preventDefault();
    this.active = event.pointerId;
    this.canvas.setPointerCapture(event.pointerId);
    this.pointer = ["pen", "touch"].includes(event.pointerType) ? event.pointerType : "mouse";
    this.strokes.push([]);
    this.#add(event);
  }

  #move(event) {
    if (event.pointerId !== this.active) return;
    const all = event.getCoalescedEvents?.() ?? [];
    for (const part of all.length ? all : [event]) this.#add(part);
  }

  #end(event) {
    if (event.pointerId !== this.active) return;
    this.active = null;
    this.onChange();
  }

  #add(event) {
    const box = this.canvas.getBoundingClientRect();
    const share = (value) => Math.round(10000 * Math.min(1, Math.max(0, value))) / 10000;
    const point = [
      share((event.clientX - box.left) / box.width),
      share((event.clientY - box.top) / box.height),
      Math.max(0, Math.round(10 * (event.timeStamp - this.started)) / 10),
    ];
    const stroke = this.strokes.at(-1);
    const last = stroke.at(-1);
    if (this.nPoints >= MOST_POINTS || (last && last[0] === point[0] && last[1] === point[1])) return;
    stroke.push(point);
    this.#line(last ?? point, point);
  }

  #line(from, to) {
    const side = this.canvas.width;
    Object.assign(this.pen, { lineWidth: LINE * side, lineCap: "round", lineJoin: "round", strokeStyle: "#000" });
    this.pen.beginPath();
    this.pen.moveTo(from[0] * side, from[1] * side);
    this.pen.lineTo(to[0] * side, to[1] * side); // a line of no length is a dot, by its round ends
    this.pen.stroke();
  }

  #redraw() {
    this.pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    for (const stroke of this.strokes) stroke.forEach((point, i) => this.#line(stroke[Math.max(0, i - 1)], point));
  }
}
