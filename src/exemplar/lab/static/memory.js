// What this browser remembers of an experiment: the participant's token, and answers that the server has not acknowledged yet.

const NAME = "exemplar-lab";

export class Memory {
  constructor(experiment) {
    this.key = `${NAME}:${experiment}`;
  }

  /** Whether the browser lets a page remember anything: private windows and strict settings may not. */
  static works() {
    try {
      localStorage.setItem(`${NAME}-test`, "1");
      localStorage.removeItem(`${NAME}-test`);
      return true;
    } catch {
      return false;
    }
  }

  get token() {
    return localStorage.getItem(this.key);
  }

  set token(token) {
    localStorage.setItem(this.key, token);
  }

  read(name, otherwise = null) {
    return read(`${this.key}:${name}`, otherwise);
  }

  /** False where there is no room left. */
  write(name, value) {
    return write(`${this.key}:${name}`, value);
  }

  forget() {
    const own = Object.keys(localStorage).filter((key) => key === this.key || key.startsWith(`${this.key}:`));
    own.forEach((key) => localStorage.removeItem(key));
  }

  /** Calls back when another tab writes under this name. */
  whenChangedElsewhere(name, callback) {
    const listen = (event) => event.key === `${this.key}:${name}` && event.newValue && callback();
    window.addEventListener("storage", listen);
    return () => window.removeEventListener("storage", listen);
  }
}

// How large this screen's pixels are is the same in every experiment.
export const readDisplay = () => read(`${NAME}-display`, null);
export const writeDisplay = (display) => write(`${NAME}-display`, display);

function read(key, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? otherwise;
  } catch {
    return otherwise; // someone else wrote it
  }
}

function write(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}
