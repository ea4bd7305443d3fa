// How large things are on this screen: full screen, and a bank card held against it.

import { buttons, make, show } from "../elements.js";
import { readDisplay, writeDisplay } from "../memory.js";
import { viewingDistanceCm } from "../tasks.js";

const CARD_CM = { long: 8.56, short: 5.398 }; // ISO/IEC 7810 ID-1: bank cards, most identity cards
const INCHES_PER_CM = 1 / 2.54;

/** Offers to fill the screen, where the browser can; it may be declined. */
export async function offerFullScreen() {
  const root = document.documentElement;
  if (!document.fullscreenEnabled || document.fullscreenElement) return;
  const { row, pressed } = buttons([
    ["Full screen", true],
    ["Stay in this window", false, "plain"],
  ]);
  show("Fill the screen?", make("p", {}, "Nothing else on the screen will distract you. The Esc key ends it."), row);
  if (await pressed) await root.requestFullscreen().catch(() => {}); // refused: the window is fine
}

/** A rectangle to be made as large as a card, from which follow pixels per centimetre; asked once per browser. */
export async function calibrate() {
  if (readDisplay()) return;
  const upright = window.innerWidth < 500; // a card is wider than a phone
  const [across, down] = upright ? [CARD_CM.short, CARD_CM.long] : [CARD_CM.long, CARD_CM.short];
  const most = Math.min(upright ? 420 : 760, window.innerWidth - 48);
  const card = make("div", { class: "card" }, make("span", {}, "card"));
  const slider = make("input", {
    type: "range",
    id: "card-width",
    min: "110",
    max: String(most),
    step: "1",
    value: String(Math.round(across * 37.8)),
  });
  const resize = () => {
    card.style.width = `${slider.value}px`;
    card.style.height = `${(slider.value * down) / across}px`;
  };
  slider.addEventListener("input", resize);
  dragCorner(card, (width) => {
    slider.value = String(Math.round(width));
    resize();
  });
  resize();
  const { row, pressed } = buttons([
    ["It fits", true],
    ["I have no card", false, "plain"],
  ]);
  const cm = viewingDistanceCm();
  show(
    "How large is your screen?",
    make(
      "p",
      {},
      "Hold a bank card, or another card of that size, against the screen. Move the slider, or drag the corner, until the " +
        "rectangle is exactly as large as the card.",
    ),
    make("div", { class: "card-place" }, card),
    make("p", { class: "field" }, make("label", { for: "card-width" }, "Size of the rectangle"), slider),
    make("p", {}, `From now on keep your eyes about ${cm} cm (${Math.round(cm * INCHES_PER_CM)} inches) from the screen.`),
    row,
  );
  if (await pressed) writeDisplay({ px_per_cm: Number(slider.value) / across });
}

function dragCorner(card, onWidth) {
  card.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    card.setPointerCapture(event.pointerId);
    card.onpointermove = (moved) => onWidth(moved.clientX - card.getBoundingClientRect().left);
  });
  for (const end of ["pointerup", "pointercancel"]) card.addEventListener(end, () => (card.onpointermove = null));
}
