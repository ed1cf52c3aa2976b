// The facts of one asset, as the server writes them, and what may be said about it.
import { allows, page, post } from "./api.js";
import { h, iconButton, localTimes, toast } from "./dom.js";

async function edit(id, what) {
  try { return await post("api/v1/edit", { ids: [id], ...what }); } catch (error) { toast(error.message); }
}

/** Reads the facts; `changed` is called after an edit, with the name of the field that had the focus. */
export async function facts(id, tail, changed) {
  const element = localTimes(document.adoptNode((await page(`a/${id}${tail}`)).querySelector(".facts")));
  const change = async (what, name) => { if (await edit(id, what)) changed(name); };
  if (allows("tag")) {
    const rating = Number(element.dataset.rating);
    element.querySelector(".stars")?.remove();
    element.querySelector("h1").after(h("p.stars", { role: "group", "aria-label": "Rating" }, ...[1, 2, 3, 4, 5].map((n) =>
      h("button", { type: "button", title: n === rating ? "No rating" : `${n} of 5`, "aria-label": `${n} of 5`, "aria-pressed": `${n <= rating}`, on: { click: () => change({ rate: n === rating ? 0 : n }) } }, n <= rating ? "★" : "☆"))));
    const tags = element.querySelector(".tags");
    for (const item of tags.children) {
      const tag = item.textContent;
      item.append(iconButton("close", `Take the tag ${tag} away`, () => change({ tag: { remove: [tag] } })));
    }
    const input = h("input", { name: "tag", placeholder: "Add a tag", "aria-label": "Add a tag", autocomplete: "off" });
    const add = () => { if (input.value.trim()) change({ tag: { add: [input.value.trim()] } }, "tag"); };
    tags.after(h("form.add", { on: { submit: (e) => { e.preventDefault(); add(); } } }, input));
  }
  if (allows("trash")) element.querySelector(".trashed")?.append(" ", h("button.plain", { type: "button", on: { click: () => change({ restore: true }) } }, "Put back"));
  return element;
}

/** Puts an asset into the trash, with a way back. */
export async function trash({ id, name }, done) {
  if (!(await edit(id, { trash: true }))) return;
  done();
  toast(`${name} is in the trash.`, "Undo", async () => { if (await edit(id, { restore: true })) toast(`${name} is back.`); });
}
