// One scroll box for a library of any height. Browsers bound the height of a box (16 to 33 million
// pixels), so a box of at most 8 million stands for the whole: scrolling moves by real pixels,
// jumps go by proportion, and a pause brings both together.
import { bound, h } from "./dom.js";

const highest = 8_000_000;

export const canvas = h("div.canvas");
export const box = h("main.box", { id: "main", tabIndex: -1, onscroll: scrolled }, canvas);

/** Where the view begins in the library, the highest place where it may, and its height. */
export let value = 0, most, view;
// The same of the box.
let scroll = 0, mostScroll;
let moved, pause;

/** Has `act` called when the view has changed. */
export function begin(act) { moved = act; }

/** Takes the height of everything and of what is seen of it. */
export function resize(total, height, place = value) {
  const real = bound(total, height, highest);
  canvas.style.height = `${real}px`;
  view = height;
  most = Math.max(0, total - view);
  mostScroll = real - view;
  go(place);
}

/**
 * From one scale to another: near both ends a pixel is a pixel, between them it stands for several.
 */
function map(place, from, to) {
  const end = mostScroll / 8;
  if (from === to || place < end) return place;
  if (place > from - end) return to - (from - place);
  return Math.round(end + ((place - end) * (to - 2 * end)) / (from - 2 * end));
}

/** What has to be subtracted from a place in the library for its place in the box. */
export const offset = () => value - scroll;

export function go(place) {
  value = Math.round(bound(place, 0, most));
  settle();
}

/** Puts the scroll position where the value belongs. */
function settle() {
  box.scrollTop = map(value, most, mostScroll);
  scroll = box.scrollTop;
  moved();
}

function scrolled() {
  const step = box.scrollTop - scroll;
  if (!step) return;
  scroll = box.scrollTop;
  value = Math.abs(step) > 4 * view ? map(scroll, mostScroll, most) : bound(value + step, 0, most);
  if (most > mostScroll) {
    const adjust = () => { if (Math.abs(map(value, most, mostScroll) - scroll) > 1) settle(); };
    if (scroll < view || scroll > mostScroll - view) adjust();
    clearTimeout(pause);
    pause = setTimeout(adjust, 250);
  }
  moved();
}
