// The search box: completes the word that is being written.
import { get } from "./api.js";
import { h } from "./dom.js";

/** The last word of a query; a space within quotes is part of it. */
export function lastWord(text) {
  let begin = 0, quoted = false;
  for (let n = 0; n < text.length; n += 1) {
    if (text[n] === '"') quoted = !quoted;
    else if (!quoted && /[\s()]/.test(text[n])) begin = n + 1;
  }
  return { begin, word: text.slice(begin) };
}

/** `find` is called with the query when it is sent. */
export function searchBox(form, find) {
  const input = form.elements.q;
  const list = h("ul.options", { id: "options", role: "listbox", "aria-label": "Completions", hidden: true });
  form.append(list);
  for (const [key, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": "options" })) input.setAttribute(key, value);
  let chosen = -1, asked = 0, timer;

  const choose = (n) => {
    chosen = n;
    [...list.children].forEach((option, at) => option.setAttribute("aria-selected", String(at === n)));
    const option = list.children[n];
    if (option) { input.setAttribute("aria-activedescendant", option.id); option.scrollIntoView({ block: "nearest" }); } else input.removeAttribute("aria-activedescendant");
  };
  const close = () => { asked += 1; list.hidden = true; input.setAttribute("aria-expanded", "false"); choose(-1); };
  const take = (text) => {
    const minus = lastWord(input.value).word.startsWith("-") ? "-" : "";
    input.value = input.value.slice(0, lastWord(input.value).begin) + minus + text + (/[:=<>]$/.test(text) ? "" : " ");
    input.focus();
    suggest();
  };
  const suggest = async () => {
    const { word } = lastWord(input.value), turn = ++asked;
    const { words } = await get("api/v1/complete?" + new URLSearchParams({ q: word.replace(/^-/, "") })).catch(() => ({ words: [] }));
    if (turn !== asked || document.activeElement !== input) return;
    list.replaceChildren(...words.map(({ text, about }, n) => h("li", {
      id: `option-${n}`, role: "option", "aria-selected": "false",
      on: { pointerdown: (e) => { e.preventDefault(); take(text); } },
    }, h("span.word", {}, text), h("span.about", {}, about))));
    list.hidden = words.length === 0;
    input.setAttribute("aria-expanded", String(!list.hidden));
    choose(-1);
  };

  input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(suggest, 80); });
  input.addEventListener("focus", () => { clearTimeout(timer); timer = setTimeout(suggest, 80); });
  input.addEventListener("blur", () => { clearTimeout(timer); close(); });
  input.addEventListener("keydown", (event) => {
    const open = !list.hidden, count = list.children.length;
    if (event.key === "ArrowDown" && open) choose((chosen + 1) % count);
    else if (event.key === "ArrowUp" && open) choose((chosen <= 0 ? count : chosen) - 1);
    else if ((event.key === "Enter" || event.key === "Tab") && open && chosen >= 0) take(list.children[chosen].firstChild.textContent);
    else if (event.key === "Escape" && open) close();
    else if (event.key === "Escape") input.blur();
    else return;
    event.preventDefault(); event.stopPropagation();
  });
  form.addEventListener("submit", (event) => {
    if (!find) return;
    event.preventDefault();
    clearTimeout(timer); close();
    input.blur();
    find(input.value.trim());
  });
}
