// Elements and texts. Names and facts come from files, so they are text, never markup.

/** Makes an element: h("a.tile", { href }, child, …). Keys with a dash are attributes, others properties. */
export function h(what, properties = {}, ...children) {
  const [tag, ...classes] = what.split(".");
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(properties)) {
    if (key === "on") for (const [type, act] of Object.entries(value)) element.addEventListener(type, act);
    else if (key === "role" || key.includes("-")) element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children.filter(Boolean));
  return element;
}

/** A button that shows an icon and says its name. */
export const iconButton = (icon, label, click, more = "") =>
  h(`button.icon.${icon}-icon${more}`, { type: "button", title: label, "aria-label": label, on: { click } });

/** A text from a file, whose direction is its own. */
export const bdi = (text) => h("bdi.name", {}, text);

// As the server writes dates.
const locale = "en-GB";
const numbers = new Intl.NumberFormat(locale);
export const number = (n) => numbers.format(n);

/** 1:02:03 */
export function clock(seconds) {
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, Math.floor(seconds) % 60];
  if (!parts[0]) parts.shift();
  return parts.map((n, at) => (at ? String(n).padStart(2, "0") : n)).join(":");
}

const day = new Intl.DateTimeFormat(locale, { weekday: "short", day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
const month = new Intl.DateTimeFormat(locale, { month: "long", year: "numeric", timeZone: "UTC" });
const moment = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });
const written = (format, text) => (Number.isNaN(Date.parse(text)) ? text : format.format(new Date(text)));

/** Days of a camera's clock have no zone. */
export const dayName = (text) => (text ? written(day, text) : "No date");
export const monthName = (text) => (text ? written(month, text) : "No date");

/** Shows times of the machine, which the server writes in UTC, in the reader's zone. */
export function localTimes(element) {
  for (const time of element.querySelectorAll("time[datetime$=Z]")) time.textContent = written(moment, time.dateTime);
  return element;
}

/** Says something at the foot of the page, for some seconds, with one thing to do about it. */
export function toast(text, action, act) {
  document.querySelector(".toast")?.remove();
  const note = h("div.toast", { role: "status" }, text, action && h("button.plain", { type: "button", on: { click: () => { note.remove(); act(); } } }, action));
  (document.querySelector("dialog[open]") ?? document.body).append(note);
  setTimeout(() => note.remove(), action ? 10000 : 4000);
}

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
