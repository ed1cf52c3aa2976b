// Elements and texts. Names and facts come from files, so they are text, never markup.

/** Gives an element what it has as properties, and all else as attributes. */
export function set(element, properties) {
  for (const [key, value] of Object.entries(properties)) {
    if (key in element) element[key] = value; else element.setAttribute(key, value);
  }
}

/** Makes an element: h("a.tile", { href }, child, [child, …]). What is false is left out. */
export function h(what, ...parts) {
  const [tag, ...classes] = what.split("."), element = document.createElement(tag);
  element.classList.add(...classes);
  for (const part of parts.flat()) {
    if (part?.constructor === Object) set(element, part); else if (part) element.append(part);
  }
  return element;
}

/** A button that shows an icon and says its name. */
export const iconButton = (icon, title, onclick, more = "") =>
  h(`button.icon.${icon}-icon${more}`, { title, onclick });

/** Puts an element somewhere in its parent, in pixels. */
export function put(element, x, y, width, height) {
  const { style } = element;
  style.translate = `${x}px ${y}px`;
  if (width) style.width = `${width}px`;
  if (height) style.height = `${height}px`;
  return element;
}

export const bound = (value, least, most) => Math.max(least, Math.min(most, value));

// As the server writes dates.
const locale = "en-GB";
export const number = new Intl.NumberFormat(locale).format;

/** 1:02:03 */
export function clock(seconds) {
  const parts = [seconds / 3600, (seconds / 60) % 60, seconds % 60].map(Math.floor);
  if (!parts[0]) parts.shift();
  return parts.map((n, at) => (at ? String(n).padStart(2, "0") : n)).join(":");
}

/** Returns what writes a date so, and a text that is none as it is. */
function dates(options) {
  const { format } = new Intl.DateTimeFormat(locale, { year: "numeric", ...options });
  return (text) => (!text ? "No date" : Number.isNaN(Date.parse(text)) ? text : format(new Date(text)));
}

// Days of a camera's clock have no zone.
export const dayName = dates({ weekday: "short", day: "numeric", month: "short", timeZone: "UTC" });
export const monthName = dates({ month: "long", timeZone: "UTC" });
const moment = dates({ day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

/** Shows times of the machine, which the server writes in UTC, in the reader's zone. */
export function localTimes(element) {
  for (const time of element.querySelectorAll("time[datetime$=Z]")) time.textContent = moment(time.dateTime);
  return element;
}

/**
 * Says a sentence, or an error's, at the foot of the page, for some seconds, with one thing to do
 * about it.
 */
export function toast(text, action, act) {
  document.querySelector(".toast")?.remove();
  const note = h("div.toast", { role: "status" }, text.message ?? text, action && h("button", { onclick: () => { note.remove(); act(); } }, action));
  (document.querySelector("dialog[open]") ?? document.body).append(note);
  setTimeout(() => note.remove(), action ? 10000 : 4000);
}

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
