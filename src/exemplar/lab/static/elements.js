// Elements of a page. Text is always added as text, never as HTML: some of it was typed by strangers.

/** make("p", {class: "lead"}, "words", element): attributes and children; `onclick` and the like are listeners. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export const paragraphs = (texts, attributes = {}) => texts.map((text) => make("p", attributes, text));

/** Puts a page with this title before the participant, and moves the focus to it, so that screen readers read it. */
export function show(title, ...children) {
  const heading = make("h1", { tabindex: "-1" }, title);
  const page = document.getElementById("page");
  page.replaceChildren(heading, ...children.flat().filter(Boolean));
  page.hidden = false;
  document.title = title;
  window.scrollTo(0, 0);
  heading.focus({ preventScroll: true });
  return page;
}

/** A row of buttons [[label, value, class], …] and a promise of the value of the one that is pressed. */
export function buttons(choices) {
  let press;
  const pressed = new Promise((resolve) => (press = resolve));
  const row = make("p", { class: "buttons" });
  for (const [label, value, look = "main"] of choices) {
    row.append(make("button", { type: "button", class: look, onclick: () => press(value) }, label));
  }
  return { row, pressed };
}

/** A page with one button, until it is pressed. */
export async function showUntil(label, title, ...children) {
  const { row, pressed } = buttons([[label, true]]);
  show(title, ...children, row);
  await pressed;
}
