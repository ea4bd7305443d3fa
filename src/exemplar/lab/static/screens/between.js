// Before each session: where the participant is, a break if they want one, and everything loaded and measured.

import { make, show, buttons } from "../elements.js";
import { measureRefresh } from "../frames.js";
import { loadImages } from "../images.js";

const KINDS = {
  prescreening: "First, a short task with objects you know.",
  "warm-up": "This one is to get used to the task.",
  main: "",
};

export function sessionName({ number, of }) {
  if (of === 1) return "Ready?";
  return of ? `Session ${number} of ${of}` : `Session ${number}`;
}

/** Loads images while the page is read; once Start is pressed, the refresh rate in Hz (null where it does not matter). */
export async function prepareSession(session, task, { onWithdraw, startsItself = false }) {
  const bar = make("progress", { max: "1", value: "0", "aria-label": "Images loaded" });
  const status = make("p", { class: "small", role: "status" }, "Loading images…");
  const { row, pressed } = buttons([[session.next ? "Continue" : "Start", true]]);
  const start = row.querySelector("button");
  start.disabled = true;
  show(sessionName(session), ...describe(session, task), bar, status, row, withdrawing(onWithdraw));

  const wanted = session.plan.trials.slice(session.next).flatMap((trial) => task.images(trial, session.plan));
  for (;;) {
    const missing = await loadImages(wanted, (share) => (bar.value = share));
    if (!missing.length) break;
    await askToRetry(missing.length, wanted.length);
    show(sessionName(session), ...describe(session, task), bar, status, row, withdrawing(onWithdraw));
  }
  bar.value = 1;
  if (task.timed) status.textContent = "Measuring the screen…";
  const refresh_hz = task.timed ? await measureRefresh() : null;
  status.textContent = "Everything is loaded.";
  start.disabled = false;
  if (!startsItself) await pressed;
  return refresh_hz;
}

function describe(session, task) {
  const left = session.n_trials - session.next;
  const again = session.next ? `You were interrupted: you go on at trial ${session.next + 1} of ${session.n_trials}.` : "";
  const rest = session.number > 1 && !session.next ? "Take a break if you like; the next session starts when you do." : "";
  const length = session.next ? `${left} ${left === 1 ? "trial is" : "trials are"} left.` : `${left} trials.`;
  return [again, rest, KINDS[session.kind] ?? "", task.reminder, length].filter(Boolean).map((text) => make("p", {}, text));
}

async function askToRetry(n_missing, n) {
  const { row, pressed } = buttons([["Try again", true]]);
  show(
    "Some images could not be loaded",
    make("p", {}, `${n_missing} of ${n} images did not arrive. Nothing is lost: what you did so far is kept.`),
    make("p", {}, "Check your connection and try again. If it keeps failing, please tell the experimenter."),
    row,
  );
  await pressed;
}

export function withdrawing(onWithdraw) {
  return make(
    "p",
    { class: "withdraw" },
    make("button", { type: "button", class: "link", onclick: onWithdraw }, "Withdraw and delete my data"),
  );
}
