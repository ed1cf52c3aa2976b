// The dashboard: the server writes it, and writes it again when something happens.
import { follow, part, post } from "./api.js";
import { localTimes, toast } from "./dom.js";

/**
 * Makes one tree like another, and leaves alone what is so already: focus and scroll positions
 * stay.
 */
function renew(old, now) {
  if (old.nodeName !== now.nodeName) return old.replaceWith(now);
  if (old.data !== now.data) old.data = now.data;
  for (const { name, value } of now.attributes ?? []) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const { name } of [...(old.attributes ?? [])]) if (!now.hasAttribute(name)) old.removeAttribute(name);
  const children = [...now.childNodes];
  while (old.childNodes.length > children.length) old.lastChild.remove();
  children.forEach((child, n) => { if (old.childNodes[n]) renew(old.childNodes[n], child); else old.append(child); });
}

export function work(main) {
  const again = follow(["change", "status"], 1500, async () => renew(main, localTimes(await part("work", "#main"))));
  main.addEventListener("click", async ({ target: { dataset } }) => {
    if (!dataset.retry) return;
    await post("api/v1/retry", { q: dataset.retry }).then(() => toast("The failed files are tried again."), toast);
    again();
  });
}
