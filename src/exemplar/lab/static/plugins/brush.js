// A drawing to paint over with mouse, pen or finger, and what a partner sees of it. Places are kept in order, with their times.

import { make } from "../elements.js";

const STEP = 4; // canvas pixels between the places of a stroke, at most: a line of the brush has no gaps
const PAINT = "#ffb37a";

export class Brush {
  /** image: a decoded drawing; side, size: of canvas and brush, canvas pixels; onFirst(): at the first touch; allows(ms): whether
   * there is still time. */
  constructor({ image, side, size, most, onFirst, allows }) {
    Object.assign(this, { image, side, size, most, onFirst, allows, places: [], pointer: null, started: null, active: null, last: null });
    this.canvas = make("canvas", { class: "paper", width: side, height: side, role: "img", "aria-label": "The drawing: paint what matters" });
    this.seen = make("canvas", { class: "seen", width: side, height: side, role: "img", "aria-label": "What your partner sees" });
    this.mask = make("canvas", { width: side, height: side });
    this.mask.getContext("2d").fillStyle = PAINT;
    this.#redraw();
    this.canvas.addEventListener("pointerdown", (event) => this.#begin(event));
    this.canvas.addEventListener("pointermove", (event) => this.#move(event));
    for (const type of ["pointerup", "pointercancel", "lostpointercapture"]) {
      this.canvas.addEventListener(type, (event) => event.pointerId === this.active && (this.active = null));
    }
  }

  /** Row and column of each of the first n places, as the partner is told. */
  shown(n = this.places.length) {
    return this.places.slice(0, n).map(([row, column]) => [row, column]);
  }

  /** One pointer at a time: a palm or a second finger paints nothing. */
  #begin(event) {
    if (this.active !== null || event.button !== 0) return;
    event.preventDefault();
    this.active = event.pointerId;
    this.canvas.setPointerCapture(event.pointerId);
    this.pointer = ["pen", "touch"].includes(event.pointerType) ? event.pointerType : "mouse";
    this.last = null;
    this.#add(event);
  }

  #move(event) {
    if (event.pointerId !== this.active) return;
    const all = event.getCoalescedEvents?.() ?? [];
    for (const part of all.length ? all : [event]) this.#add(part);
  }

  #add(event) {
    const { canvas, side } = this;
    const box = canvas.getBoundingClientRect(); // with its border
    const pixel = (px, size) => Math.min(side - 1, Math.max(0, Math.floor((px / size) * side)));
    const row = pixel(event.clientY - box.top - canvas.clientTop, canvas.clientHeight);
    const column = pixel(event.clientX - box.left - canvas.clientLeft, canvas.clientWidth);
    this.strokeTo(row, column, event.timeStamp);
  }

  /** Paints from the last place of the stroke to this one. at: time stamp, ms. */
  strokeTo(row, column, at) {
    if (this.started === null) {
      this.started = at;
      this.onFirst(at);
    }
    const ms = Math.max(this.places.at(-1)?.[2] ?? 0, Math.round(10 * (at - this.started)) / 10);
    if (!this.allows(ms)) return;
    const [from_row, from_column] = this.last ?? [row, column];
    const n = Math.max(1, Math.ceil(Math.max(Math.abs(row - from_row), Math.abs(column - from_column)) / STEP));
    for (let k = 1; k <= n; k++) {
      const between = (from, to) => Math.round(from + ((to - from) * k) / n);
      this.#paint(between(from_row, row), between(from_column, column), ms);
    }
    this.last = [row, column];
    this.#redraw();
  }

  #paint(row, column, ms) {
    const before = this.places.at(-1);
    if (this.places.length >= this.most || (before && before[0] === row && before[1] === column)) return;
    this.places.push([row, column, ms]);
    const half = (this.size - 1) / 2;
    const square = [column - half, row - half, this.size, this.size];
    this.mask.getContext("2d").fillRect(...square);
    this.seen.getContext("2d").drawImage(this.image, ...square, ...square);
  }

  #redraw() {
    const pen = this.canvas.getContext("2d");
    pen.globalCompositeOperation = "source-over";
    pen.drawImage(this.image, 0, 0, this.side, this.side);
    pen.globalCompositeOperation = "multiply";
    pen.drawImage(this.mask, 0, 0);
  }
}
