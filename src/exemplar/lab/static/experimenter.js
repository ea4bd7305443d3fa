// Keeps the numbers of the experimenter's page fresh. Without it the page works, too, but stands still.

const EVERY_MS = 5000;

const WRITTEN = {
  share: (value) => (value === null ? "" : value.toFixed(3)),
  time: (seconds) => (seconds ? new Date(1000 * seconds).toLocaleString([], { dateStyle: "short", timeStyle: "short" }) : ""),
  duration: (seconds) => (seconds === null || seconds === "" ? "" : writeDuration(Math.round(seconds))),
};

function writeDuration(seconds) {
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  return hours ? `${hours} h ${minutes} min` : minutes ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}

/** Participants' words reach the page as text only. */
function fill(root, values) {
  for (const cell of root.querySelectorAll("[data-field]")) {
    const value = values[cell.dataset.field];
    if (value === undefined) continue;
    const text = (WRITTEN[cell.dataset.as] ?? ((plain) => String(plain ?? "")))(value);
    if (cell.textContent !== text) cell.textContent = text;
  }
}

function refreshExperiment(experiment) {
  const panel = document.querySelector(`[data-experiment="${CSS.escape(experiment.name)}"]`);
  if (!panel) return;
  fill(panel, experiment);
  const rows = experiment.by_group.map(({ group, sessions, quota }) => {
    const row = document.createElement("tr");
    for (const value of [group, sessions, quota ?? ""]) row.insertCell().textContent = value;
    row.cells[1].className = row.cells[2].className = "number";
    return row;
  });
  panel.querySelector(".groups").replaceChildren(...rows);
  panel.querySelector("details").hidden = !rows.length;
}

/** Rows stay where they are while someone types in them; new ones come first, deleted ones go. */
function refreshParticipants(people) {
  const body = document.querySelector("#participants tbody");
  const rows = new Map([...body.rows].map((row) => [row.dataset.participant, row]));
  for (const person of [...people].reverse()) {
    let row = rows.get(person.participant);
    if (!row) {
      row = document.getElementById("participant-row").content.firstElementChild.cloneNode(true);
      row.dataset.participant = person.participant;
      row.querySelectorAll('[name="participant"]').forEach((input) => (input.value = person.participant));
      row.querySelector('[name="why"]').setAttribute("aria-label", `Why is ${person.participant} excluded?`);
      body.prepend(row);
    }
    rows.delete(person.participant);
    fill(row, person);
    row.classList.toggle("excluded", person.excluded);
    row.querySelector('[data-when="included"]').hidden = person.excluded;
    row.querySelector('[data-when="excluded"]').hidden = !person.excluded;
  }
  rows.forEach((row) => row.remove());
  document.getElementById("nobody").hidden = people.length > 0;
  document.getElementById("participants").hidden = people.length === 0;
}

async function refresh() {
  const live = document.getElementById("live");
  try {
    const answer = await fetch("/api/experimenter/progress", { cache: "no-store" });
    if (answer.status === 401) {
      live.textContent = "You are logged out: load the page again.";
      return;
    }
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const { experiments, participants, server } = await answer.json();
    experiments.forEach(refreshExperiment);
    refreshParticipants(participants);
    document.getElementById("uptime").textContent = writeDuration(server.uptime_s);
    live.textContent = "";
  } catch {
    live.textContent = "The server does not answer: these numbers are old.";
  }
  setTimeout(refresh, EVERY_MS);
}

for (const cell of document.querySelectorAll("[data-as]")) {
  const kind = cell.dataset.as;
  if (kind !== "share" && cell.textContent.trim() && !cell.closest("template"))
    cell.textContent = WRITTEN[kind](Number(cell.textContent));
}
setTimeout(refresh, EVERY_MS);
