// Talking to the server: a request is repeated until it is answered; answers to trials are sent in order, none lost or doubled.

import { make } from "./elements.js";

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5000;
const NOTICE_AFTER_MS = 3000;
const ANSWER_WITHIN_MS = 20000;

/** The server understood and said no: sending the same again would not help. */
export class Refused extends Error {
  constructor(status, said) {
    super(said.error ?? `The server answered with status ${status}.`);
    this.status = status;
    this.otherTab = Boolean(said.other_tab);
  }
}

/** The server's answer as an object. No network, 5xx, 408 and 429: asks again, later and later, until there is an answer. */
export async function ask(method, path, { token = null, body = undefined } = {}) {
  const notice = setTimeout(() => lateRequests.add(notice) && showNotice(), NOTICE_AFTER_MS);
  try {
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
      const { status, said, retryAfterMs } = await askOnce(method, path, token, body);
      if (status >= 200 && status < 300) return said;
      if (status >= 400 && status < 500 && status !== 408 && status !== 429) throw new Refused(status, said);
      // A quarter more or less, so that those who wait for the same server do not all come back at once.
      await sleep(Math.max(wait * (0.75 + Math.random() / 2), retryAfterMs));
    }
  } finally {
    clearTimeout(notice);
    lateRequests.delete(notice);
    showNotice();
  }
}

/** One attempt. status: 0 where there is no network, no server, or no answer in time. */
export async function askOnce(method, path, token, body, withinMs = ANSWER_WITHIN_MS) {
  const headers = {};
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const stop = new AbortController();
  const late = setTimeout(() => stop.abort(), withinMs);
  try {
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const answer = await fetch(path, { method, headers, body: sent, cache: "no-store", signal: stop.signal });
    const said = await answer.json().catch(() => ({}));
    return { status: answer.status, said: said ?? {}, retryAfterMs: 1000 * (Number(answer.headers.get("Retry-After")) || 0) };
  } catch {
    return { status: 0, said: {}, retryAfterMs: 0 }; // no network, or no server
  } finally {
    clearTimeout(late);
  }
}

/** Waits, but no longer than until the network is back. */
function sleep(ms) {
  return new Promise((resolve) => {
    const wake = () => {
      clearTimeout(timer);
      window.removeEventListener("online", wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    window.addEventListener("online", wake);
  });
}

const lateRequests = new Set();

function showNotice() {
  let notice = document.getElementById("notice");
  if (!notice) {
    notice = make("p", { id: "notice", role: "status" });
    document.body.append(notice);
  }
  const words = "The server does not answer. Your answers are kept on this device and will be sent as soon as it does.";
  notice.textContent = lateRequests.size ? words : "";
  notice.hidden = !lateRequests.size;
}

/** Answers on their way to the server. Each stays in the browser's memory until the server has acknowledged it. */
export class Outbox {
  /** onAcknowledged(said): after each answer; onRefused(refusal): once, after which nothing more is sent. */
  constructor({ memory, tab, onAcknowledged, onRefused }) {
    Object.assign(this, { memory, tab, onAcknowledged, onRefused });
    this.waiting = [];
    this.closed = false;
    this.sending = null;
  }

  /** Takes over what an earlier load of this page, or another tab, could not send. */
  adopt() {
    this.waiting = this.memory.read("unsent", []).map((answer) => ({ ...answer, tab: this.tab }));
    this.memory.write("unsent", this.waiting);
    return this.waiting.length;
  }

  put(session, trial, answer) {
    if (this.closed) return;
    this.waiting.push({ session, trial, tab: this.tab, answer });
    this.#keep();
    this.#send();
  }

  /** Resolves when the server has acknowledged everything; never, where it refused something. */
  async settled() {
    while (this.waiting.length && !this.closed) await this.#send();
    if (this.closed) await new Promise(() => {});
  }

  close() {
    this.closed = true;
  }

  #send() {
    this.sending ??= this.#sendAll().finally(() => {
      this.sending = null;
      if (this.waiting.length && !this.closed) this.#send(); // it came while the last one was being put away
    });
    return this.sending;
  }

  async #sendAll() {
    while (this.waiting.length && !this.closed) {
      try {
        const said = await ask("POST", "/api/trials", { token: this.memory.token, body: this.waiting[0] });
        this.waiting.shift();
        this.#keep();
        if (!this.closed) this.onAcknowledged(said);
      } catch (refusal) {
        this.waiting = []; // the server says where to go on, and these answers are not for there
        this.#keep();
        const first = !this.closed;
        this.close();
        if (first) this.onRefused(refusal);
      }
    }
  }

  /** Another tab's answers stay as they are. A browser without room still sends what is in `waiting`. */
  #keep() {
    const others = this.memory.read("unsent", []).filter((answer) => answer.tab !== this.tab);
    this.memory.write("unsent", [...others, ...this.waiting]);
  }
}
