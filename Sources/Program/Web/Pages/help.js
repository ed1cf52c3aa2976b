// What the keys do.
import { hasOriginals } from "./api.js";
import { h, iconButton } from "./dom.js";

const keys = {
  "← → ↑ ↓": "go from picture to picture", "Home End": "first and last", "Page ↑ ↓": "a page up or down", Enter: "open",
  Space: "play a film, or pause it", Escape: "close, or go back", "/": "search", i: "facts", z: "full size, and back",
  "+ − 0": "zoom", ...(hasOriginals && { d: "download the original" }), "?": "this list",
};

export function help() {
  const old = document.querySelector("dialog.help");
  if (old) return old.close();
  const dialog = h("dialog.help", { "aria-label": "Keys", onclose: () => dialog.remove(), onclick: ({ target }) => { if (target === dialog) dialog.close(); } },
    h("div.tools", h("h2", "Keys"), h("span.space"), iconButton("close", "Close", () => dialog.close())),
    h("dl", Object.entries(keys).map(([names, what]) =>
      h("div", h("dt", names.split(" ").flatMap((name) => [h("kbd", name), " "])), h("dd", what)))));
  document.body.append(dialog);
  dialog.showModal();
}
