// After the last session: completion code, the participant's own result, and withdrawal.

import { buttons, make, paragraphs, show } from "../elements.js";
import { ask } from "../sending.js";
import { withdrawing } from "./between.js";

const ASK_AGAIN_MS = 1000;

/** The last page. It is the same when it is opened again. */
export function showEnd({ state, code, text, result }, bonus, token, onWithdraw) {
  const copy = make("button", { type: "button", class: "plain" }, "Copy");
  const shown = make("output", { class: "code" }, code ?? "");
  copy.addEventListener("click", async () => {
    const copied = await navigator.clipboard?.writeText(code).then(
      () => true,
      () => false,
    );
    if (!copied) window.getSelection().selectAllChildren(shown); // browsers allow the clipboard on https only
    copy.textContent = copied ? "Copied" : "Selected: now copy";
  });
  const own = result ? make("section", { class: "result", "aria-live": "polite" }) : null;
  show(
    state === "rejected" ? "Thank you for trying" : "Thank you",
    make("p", {}, text),
    bonus ? make("p", {}, bonus) : null,
    code ? make("p", { class: "completion" }, make("span", {}, "Your completion code"), shown, copy) : null,
    own,
    withdrawing(onWithdraw),
  );
  if (own) showResult(own, result, token);
}

async function showResult(section, path, token) {
  const waiting = make("p", { class: "small" }, "Your result is on its way…");
  section.replaceChildren(make("h2", {}, "Your result"), waiting);
  try {
    let found = await ask("GET", path, { token });
    while (found.state === "computing" && section.isConnected) {
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
      found = await ask("GET", path, { token });
    }
    waiting.replaceWith(...picture(found.svg, found.text.join(" ")), ...paragraphs(found.text));
  } catch (refusal) {
    waiting.textContent = refusal.message;
  }
}

/** As an image, an SVG runs no scripts, whatever it contains. */
function picture(svg, alt) {
  if (!svg) return []; // it could not be drawn, and the text says why
  const image = make("img", { src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`, alt });
  return [make("figure", {}, make("div", { class: "picture" }, image))];
}

/** True once everything is deleted; false where the participant thought better of it. */
export async function withdraw(token) {
  const { row, pressed } = buttons([
    ["Delete everything", true, "danger"],
    ["Keep it", false, "plain"],
  ]);
  show(
    "Withdraw?",
    make(
      "p",
      {},
      "Everything you did and told us will be deleted from the server, and you will not get a completion code. " +
        "This cannot be undone.",
    ),
    row,
  );
  if (!(await pressed)) return false;
  await ask("DELETE", "/api/me", { token });
  return true;
}

export function showWithdrawn() {
  show("Your data are deleted", make("p", {}, "Nothing of what you did or told us is kept. You may close this page."));
}
