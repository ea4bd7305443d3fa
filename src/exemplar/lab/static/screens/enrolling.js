// Before the first session: consent, what the experimenter asks for, and instructions.

import { buttons, make, paragraphs, show, showUntil } from "../elements.js";

/** Until the participant agrees. There is no way on without it, and nothing is sent before it. */
export async function askConsent(experiment) {
  const box = make("input", { type: "checkbox", id: "consent" });
  const { row, pressed } = buttons([["Take part", true]]);
  const go = row.querySelector("button");
  go.disabled = true;
  box.addEventListener("change", () => (go.disabled = !box.checked));
  show(
    experiment.title,
    make("p", { class: "lead" }, experiment.summary),
    make("p", { class: "small" }, `About ${experiment.minutes} ${experiment.minutes === 1 ? "minute" : "minutes"}.`),
    make("h2", {}, "Before you agree"),
    paragraphs(experiment.consent),
    experiment.contact ? make("p", {}, `Questions? Contact ${experiment.contact}.`) : null,
    make("p", { class: "agree" }, box, make("label", { for: "consent" }, "I have read this, and I agree to take part.")),
    row,
  );
  await pressed;
}

/** Name → text for everything the experimenter asks for; an empty answer is an answer. */
export async function askQuestions(experiment) {
  if (!experiment.ask.length) return {};
  const { row, pressed } = buttons([["Continue", true]]);
  const fields = experiment.ask.map(({ name, label }) => {
    const input = make("input", { id: `asked-${name}`, name, type: "text", maxlength: "500", autocomplete: "off" });
    return [name, input, make("p", { class: "field" }, make("label", { for: `asked-${name}` }, label), input)];
  });
  const form = make(
    "form",
    { onsubmit: (event) => event.preventDefault() },
    fields.map(([, , field]) => field),
    row,
  );
  row.querySelector("button").type = "submit"; // so that the return key works, too
  show("About you", make("p", {}, "The experimenter asks for the following. You may leave a field empty."), form);
  await pressed;
  return Object.fromEntries(fields.map(([name, input]) => [name, input.value.trim()]));
}

export async function showInstructions(experiment) {
  await showUntil("I understand", "What you will do", paragraphs(experiment.instructions));
}
