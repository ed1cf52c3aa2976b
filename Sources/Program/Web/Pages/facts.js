// The facts of one asset, as the server writes them, and what may be said about it.
import { allows, part, post } from "./api.js";
import { h, iconButton, localTimes, toast } from "./dom.js";

const edit = (id, what) => post("api/v1/edit", { ids: [id], ...what }).catch(toast);

/**
 * Reads the facts; `changed` is called after an edit, with the name of the field that had the
 * focus.
 */
export async function facts(id, tail, changed) {
  const element = localTimes(await part(`a/${id}${tail}`, ".facts"));
  const change = async (what, name) => { if (await edit(id, what)) changed(name); };
  if (allows("tag")) {
    const rating = Number(element.dataset.rating), tags = element.querySelector(".tags");
    element.querySelector("h1").after(h("p.stars", { role: "group", "aria-label": "Rating" }, [1, 2, 3, 4, 5].map((n) => h("button", {
      title: n === rating ? "No rating" : `${n} of 5`, "aria-label": `${n} of 5`, "aria-pressed": n <= rating,
      onclick: () => change({ rate: n === rating ? 0 : n }),
    }, n <= rating ? "★" : "☆"))));
    for (const item of tags.children) {
      const tag = item.textContent;
      item.append(iconButton("close", `Take the tag ${tag} away`, () => change({ tag: { remove: [tag] } })));
    }
    const input = h("input", { name: "tag", placeholder: "Add a tag", "aria-label": "Add a tag", autocomplete: "off" });
    tags.after(h("form.add", { onsubmit: (event) => {
      event.preventDefault();
      if (input.value.trim()) change({ tag: { add: [input.value.trim()] } }, "tag");
    } }, input));
  }
  return element;
}

/** Puts an asset into the trash, with a way back. */
export async function trash({ id, name }, done) {
  if (!(await edit(id, { trash: true }))) return;
  done();
  toast(`${name} is in the trash.`, "Undo", async () => { if (await edit(id, { restore: true })) toast(`${name} is back.`); });
}
