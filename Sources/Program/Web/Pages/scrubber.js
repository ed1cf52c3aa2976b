// The bar at the side: years where they really are, and the month under the pointer.
import { bound, h, monthName, number, put, set } from "./dom.js";
import { above, layout } from "./grid.js";
import * as track from "./track.js";

const bubble = h("span.bubble"), hand = h("span.hand", bubble), years = h("span.years");
let marked, dragged, rest;

export const scrubber = h("div.scrubber", {
  role: "slider", tabIndex: 0, "aria-label": "Date", "aria-orientation": "vertical", "aria-valuenow": 0, // of 100
  onpointerdown: press, onpointermove: move, onpointerup: release, onpointercancel: release, onpointerleave: () => { if (!dragged) release(); }, onkeydown: key,
}, years, hand);
new ResizeObserver(mark).observe(scrubber);

/** How far down the bar a place of the library is. */
const down = (value) => Math.round((scrubber.clientHeight * value) / track.most);
/** Where a day begins. */
const topOf = (day) => above + layout.tops[layout.rowOf(layout.dayStarts[day])];
/** The first picture at a place. */
const first = (value) => layout.firsts[layout.rowAt(value - above)];

/** Places the years; for each new layout. */
function mark() {
  marked = layout;
  years.replaceChildren();
  scrubber.hidden = !layout || track.most < track.view / 2;
  if (scrubber.hidden || !layout.hasDays) return;
  let year, last = -100;
  layout.days.forEach(([day], n) => {
    const own = day?.slice(0, 4);
    if (own === year) return;
    year = own;
    const y = down(topOf(n));
    if (!year || y - last < 22 || y > scrubber.clientHeight - 12) return;
    last = y;
    years.append(put(h("span", year), 0, y));
  });
}

/** Follows the view. */
export function followView() {
  if (marked !== layout) mark();
  if (scrubber.hidden) return;
  put(hand, 0, down(track.value));
  tell(track.value);
  set(scrubber, { "aria-valuenow": Math.round((100 * track.value) / track.most), "aria-valuetext": bubble.textContent });
  scrubber.classList.add("moving");
  clearTimeout(rest);
  rest = setTimeout(() => scrubber.classList.remove("moving"), 1200);
}

/** Says what is at a place, beside it. */
function tell(value) {
  const index = first(value);
  bubble.textContent = !layout.rows ? "" : layout.hasDays ? monthName(layout.days[layout.dayOf(index)][0]) : `${number(index + 1)} of ${number(layout.count)}`;
  put(bubble, 0, down(value - track.value));
}

function press(event) {
  if (event.button) return;
  event.preventDefault();
  scrubber.setPointerCapture(event.pointerId);
  scrubber.classList.add("dragged");
  dragged = true;
  move(event);
}

function move({ clientY, pointerType }) {
  const { top, height } = scrubber.getBoundingClientRect(), value = bound((clientY - top) / height, 0, 1) * track.most;
  if (dragged) track.go(value); else if (pointerType === "mouse") tell(value);
}

function release() {
  dragged = false;
  scrubber.classList.remove("dragged");
  tell(track.value);
}

/** By day, by thirty days, to both ends. */
function key(event) {
  const day = layout.dayOf(first(track.value + 1)), end = layout.days.length;
  const other = { ArrowUp: day - 1, ArrowDown: day + 1, PageUp: day - 30, PageDown: day + 30, Home: 0, End: end }[event.key];
  if (other === undefined) return;
  event.preventDefault();
  track.go(other <= 0 ? 0 : other >= end ? track.most : topOf(other));
}
