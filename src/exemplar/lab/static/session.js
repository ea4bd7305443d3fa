// One session: jsPsych runs its trials, and each answer goes into the outbox as soon as it is there.

import { make, show } from "./elements.js";
import { askOnce } from "./sending.js";
import { TASKS } from "./tasks.js";

const LOOK_WITHIN_MS = 3000;

/** Runs the trials that are left; resolves when the server has acknowledged the last one. */
export async function runSession(session, { outbox, refresh_hz, bonusText, simulate }) {
  const { plan } = session;
  const task = TASKS[plan.type];
  const stage = make("div", { id: "task" });
  const jsPsych = initJsPsych({ display_element: stage });
  const state = { refresh_hz, bonusText, ...partner(session.session, outbox) };
  const timeline = plan.trials.slice(session.next).map((trial, i) => ({
    type: task.plugin,
    ...task.parameters(plan, trial, session.next + i, state),
    on_finish: (data) => {
      if (outbox.closed) return; // the trial was broken off
      outbox.put(session.session, session.next + i, Object.fromEntries(task.answer.map((name) => [name, data[name] ?? null])));
      document.dispatchEvent(new CustomEvent("lab:trial", { detail: data })); // for whoever measures: speed/lab_frames.py
    },
  }));

  document.getElementById("page").hidden = true;
  document.body.classList.add("working", `task-${plan.type}`);
  document.body.append(stage);
  const done = simulate ? jsPsych.simulate(timeline, simulate) : jsPsych.run(timeline);
  const leave = () => {
    stage.remove();
    document.body.classList.remove("working", `task-${plan.type}`);
  };
  const breakOff = () => {
    leave();
    jsPsych.abortExperiment();
  };
  const finished = done.then(async () => {
    leave();
    if (outbox.closed) return;
    show("Saving…", make("p", {}, "Your last answers are on their way to the server."));
    await outbox.settled();
  });
  return { finished, breakOff };
}

/** Of a game: what the server's partner says to what was painted so far (null where it does not say), and points, which outlast
 * a reload. Neither is believed by the server, which judges for itself. */
function partner(session, { memory, tab }) {
  const look = async (trial, places) => {
    const body = { session, trial, tab, places };
    const { status, said } = await askOnce("POST", "/api/guess", memory.token, body, LOOK_WITHIN_MS);
    return status === 200 ? said : null;
  };
  const addPoints = (n) => {
    const before = memory.read("points", {});
    const total = (before.session === session ? before.total : 0) + n;
    memory.write("points", { session, total });
    return total;
  };
  return { look, addPoints };
}
