// A participant's way through an experiment: consent, sessions, completion code; from where they were, after a reload or crash.

import { buttons, make, show } from "./elements.js";
import { Memory } from "./memory.js";
import { prepareSession } from "./screens/between.js";
import { calibrate, offerFullScreen } from "./screens/display.js";
import { askConsent, askQuestions, showInstructions } from "./screens/enrolling.js";
import { showEnd, showWithdrawn, withdraw } from "./screens/finishing.js";
import { Outbox, Refused, ask } from "./sending.js";
import { runSession } from "./session.js";
import { TASKS } from "./tasks.js";

const experiment = JSON.parse(document.getElementById("experiment").textContent);
const memory = new Memory(experiment.name);
const tab = randomName();
const simulate = experiment.simulation ? simulationMode() : null;

/** Something ended what was going on: the server refused, another tab took over, or the participant withdraws. */
class Interruption {
  constructor() {
    this.promise = new Promise((_, reject) => (this.reject = reject));
    this.promise.catch(() => {}); // it may come when nobody is waiting
  }
}
const WITHDRAW = new Error("withdraw");
const OTHER_TAB = new Refused(409, { error: "This experiment is open in another tab.", other_tab: true });

async function main() {
  const missing = whatIsMissing();
  if (missing) return show("This browser cannot run the experiment", make("p", {}, missing));
  if (!(experiment.type in TASKS))
    return show("Not available yet", make("p", {}, "This experiment cannot run in a browser yet."));
  for (;;) {
    try {
      await takePart();
      return;
    } catch (problem) {
      if (await recover(problem)) return;
    }
  }
}

/** From wherever the participant is to the end. Throws what interrupted it. */
async function takePart() {
  if (!memory.token) await enrol();
  const interruption = new Interruption();
  const state = { bonus: null };
  const outbox = new Outbox({
    memory,
    tab,
    onAcknowledged: (said) => (state.bonus = said.bonus),
    onRefused: interruption.reject,
  });
  const stopWatching = memory.whenChangedElsewhere("tab", () => interruption.reject(OTHER_TAB));
  const onWithdraw = () => interruption.reject(WITHDRAW);
  const orInterrupted = (promise) => Promise.race([promise, interruption.promise]);
  try {
    await orInterrupted(prepare());
    memory.write("tab", tab); // tells other tabs that it goes on here
    let session = await claim();
    if (outbox.adopt()) {
      await orInterrupted(outbox.settled());
      session = await claim(); // what was sent counts
    }
    while (session.state === "session") {
      state.bonus = session.bonus;
      await takeSession(session, outbox, state, orInterrupted, onWithdraw);
      session = await orInterrupted(claim());
    }
    stopWatching();
    showEnd(session, bonusText(session.bonus), memory.token, onWithdraw);
    await interruption.promise; // the end stays, unless they withdraw
  } finally {
    outbox.close();
    stopWatching();
  }
}

async function takeSession(session, outbox, state, orInterrupted, onWithdraw) {
  const task = TASKS[session.plan.type];
  const prepared =
    simulate === "data-only" ? 60 : prepareSession(session, task, { onWithdraw, startsItself: Boolean(simulate) });
  const refresh_hz = await orInterrupted(prepared);
  const running = await runSession(session, { outbox, refresh_hz, bonusText: () => bonusText(state.bonus), simulate });
  try {
    await orInterrupted(running.finished);
  } catch (problem) {
    running.breakOff();
    throw problem;
  }
}

/** For every right choice so far, as the server counts them; empty where there is none to be had. */
function bonusText(bonus) {
  return typeof bonus === "number" ? `Bonus: ${experiment.currency ?? ""}${bonus.toFixed(2)}` : "";
}

async function enrol() {
  if (!simulate) await askConsent(experiment);
  const asked = simulate ? {} : await askQuestions(experiment);
  const known = await ask("POST", "/api/participants", { body: { experiment: experiment.name, consent: true, asked } });
  memory.token = known.token;
}

/** Once per participant, whatever is interrupted. */
async function prepare() {
  if (simulate || memory.read("prepared")) return;
  await showInstructions(experiment);
  if (TASKS[experiment.type].timed) {
    await offerFullScreen();
    await calibrate();
  }
  memory.write("prepared", true);
}

const claim = () => ask("POST", "/api/sessions", { token: memory.token, body: { tab } });

/** Says what happened and waits for the participant to go on. True where there is nothing to go on with. */
async function recover(problem) {
  if (problem === WITHDRAW) {
    if (!(await withdraw(memory.token).catch((refusal) => refusal.status === 401))) return false;
    memory.forget();
    showWithdrawn();
    return true;
  }
  if (!(problem instanceof Refused)) {
    console.error(problem);
    await pause("Something went wrong", "This page met an error of its own. What you did so far is kept.", "Go on");
  } else if (problem.status === 401) {
    memory.forget();
    await pause(
      "Please start again",
      "The server does not know this participant, or no longer: your data may have been deleted.",
      "Start again",
    );
  } else if (problem.otherTab) {
    await pause(
      "This experiment is open in another tab",
      "Go on there, or continue here: the other tab will stop.",
      "Continue here",
    );
  } else if (problem.status !== 409) {
    await pause("The server refused", problem.message, "Go on");
  } // another 409: this page was behind, and claiming the session again says where to go on
  return false;
}

async function pause(title, text, label) {
  const { row, pressed } = buttons([[label, true]]);
  show(title, make("p", {}, text), row);
  await pressed;
}

const NO_POINTERS =
  "It does not know pen, mouse and touch by one name (pointer events). " +
  "Please use a current version of Firefox, Chrome, Edge or Safari.";
const NO_MEMORY =
  "It does not let this page remember anything, so that your answers could be lost. " +
  "Please allow site data (local storage) for this page, or leave the private window, and load it again.";

function whatIsMissing() {
  if (!window.PointerEvent) return NO_POINTERS;
  return Memory.works() ? null : NO_MEMORY;
}

function simulationMode() {
  const mode = new URLSearchParams(location.search).get("simulate");
  return ["data-only", "visual"].includes(mode) ? mode : null;
}

function randomName() {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

main();
