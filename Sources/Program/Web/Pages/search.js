// The search box: completes the word that is being written.
import { get, tail } from "./api.js";
import { h, set } from "./dom.js";

/**
 * The last word of a query, empty behind a space or parenthesis; within quotes, these are part of
 * it.
 */
const lastWord = (text) => text.match(/[\s()]|([^\s()"]|"[^"]*"?)+/g)?.at(-1).replace(/^[\s()]/, "") ?? "";

/** `find` is called with the query when it is sent. */
export function searchBox(form, find) {
  const input = form.elements.q;
  const list = h("ul.options", { id: "options", role: "listbox", "aria-label": "Completions", hidden: true });
  form.append(list);
  let chosen, timer, asked; // asked: the request under way

  const choose = (n) => {
    chosen?.setAttribute("aria-selected", false);
    chosen = list.children[n];
    chosen?.setAttribute("aria-selected", true);
    chosen?.scrollIntoView({ block: "nearest" });
    set(input, { "aria-expanded": !list.hidden, "aria-activedescendant": chosen?.id ?? "" });
  };
  const close = () => {
    clearTimeout(timer);
    asked?.abort();
    list.hidden = true;
    choose();
  };
  const take = (text) => {
    const word = lastWord(input.value).replace(/^-/, "");
    input.value = input.value.slice(0, input.value.length - word.length) + text + (/[:=<>]$/.test(text) ? "" : " ");
    input.focus();
    suggest();
  };
  const suggest = async () => {
    asked?.abort();
    const turn = asked = new AbortController();
    const { words } = await get("api/v1/complete" + tail({ q: lastWord(input.value).replace(/^-/, "") }), turn).catch(() => ({ words: [] }));
    if (turn.signal.aborted || document.activeElement !== input) return;
    list.replaceChildren(...words.map(({ text, about }, n) =>
      h("li", { id: `option-${n}`, role: "option", "aria-selected": false, onpointerdown: (event) => { event.preventDefault(); take(text); } },
        h("span.word", text), h("span.about", about))));
    list.hidden = !words.length;
    choose();
  };

  set(input, {
    role: "combobox", "aria-autocomplete": "list", "aria-expanded": false, "aria-controls": "options",
    oninput: () => { clearTimeout(timer); timer = setTimeout(suggest, 80); },
    onblur: close,
    onkeydown: (event) => {
      const { key } = event, isOpen = !list.hidden, options = list.children, at = [...options].indexOf(chosen);
      if (key === "ArrowDown" && isOpen) choose((at + 1) % options.length);
      else if (key === "ArrowUp" && isOpen) choose((at <= 0 ? options.length : at) - 1);
      else if ((key === "Enter" || key === "Tab") && isOpen && chosen) take(chosen.firstChild.textContent);
      else if (key !== "Escape") return;
      else if (isOpen) close();
      else input.blur();
      event.preventDefault(); event.stopPropagation();
    },
  });
  input.onfocus = input.oninput;
  form.onsubmit = (event) => {
    if (!find) return;
    event.preventDefault();
    input.blur();
    find(input.value.trim());
  };
}
