// The bar at the side: years where they really are, and the month under the pointer.
import { h, monthName, number } from "./dom.js";

export class Scrubber {
  constructor(grid) {
    this.grid = grid;
    this.bubble = h("span.bubble");
    this.hand = h("span.hand", {}, this.bubble);
    this.years = h("span.years");
    const end = () => { this.dragged = false; this.show(grid.track.value); this.element.classList.remove("dragged"); };
    this.element = h("div.scrubber", {
      role: "slider", tabIndex: 0, "aria-label": "Date", "aria-orientation": "vertical", "aria-valuemin": 0, "aria-valuemax": 1000, "aria-valuenow": 0,
      on: {
        pointerdown: (e) => this.press(e), pointermove: (e) => this.move(e), keydown: (e) => this.key(e),
        pointerup: end, pointercancel: end, pointerleave: () => { if (!this.dragged) end(); },
      },
    }, this.years, this.hand);
    new ResizeObserver(() => this.mark()).observe(this.element);
  }

  get high() { return this.element.clientHeight; }

  /** Places the years; for each new layout. */
  mark() {
    const { layout, track, above } = this.grid;
    this.marked = layout;
    this.years.replaceChildren();
    this.element.hidden = !layout || track.most < track.view / 2;
    if (this.element.hidden || !layout.hasDays) return;
    let year, last = -100;
    layout.days.forEach(([day], n) => {
      const own = day?.slice(0, 4);
      if (own === year) return;
      year = own;
      const y = Math.round((this.high * (above + layout.tops[layout.rowOf(layout.dayStarts[n])])) / track.most);
      if (!year || y - last < 22 || y > this.high - 12) return;
      last = y;
      const mark = h("span", {}, year);
      mark.style.transform = `translateY(${y}px)`;
      this.years.append(mark);
    });
  }

  /** Follows the view. */
  follow() {
    const { layout, track } = this.grid, { element } = this;
    if (this.marked !== layout) this.mark();
    if (element.hidden) return;
    this.hand.style.transform = `translateY(${Math.round((this.high * track.value) / track.most)}px)`;
    this.show(track.value);
    element.setAttribute("aria-valuenow", Math.round((1000 * track.value) / track.most));
    element.setAttribute("aria-valuetext", this.bubble.textContent);
    element.classList.add("moving");
    clearTimeout(this.rest);
    this.rest = setTimeout(() => element.classList.remove("moving"), 1200);
  }

  /** Says what is at a place, beside it. */
  show(value) {
    const { layout, track, above } = this.grid, first = layout.firsts[layout.rowAt(value - above)];
    this.bubble.textContent = !layout.rows ? "" : layout.hasDays ? monthName(layout.days[layout.dayOf(first)][0]) : `${number(first + 1)} of ${number(layout.count)}`;
    this.bubble.style.transform = `translateY(${Math.round((this.high * (value - track.value)) / track.most)}px)`;
  }

  press(event) {
    if (event.button) return;
    event.preventDefault();
    this.element.setPointerCapture(event.pointerId);
    this.element.classList.add("dragged");
    this.dragged = true;
    this.move(event);
  }

  move(event) {
    const { top, height } = this.element.getBoundingClientRect();
    const value = Math.min(1, Math.max(0, (event.clientY - top) / height)) * this.grid.track.most;
    if (this.dragged) this.grid.track.go(value); else if (event.pointerType === "mouse") this.show(value);
  }

  /** By day, by thirty days, to both ends. */
  key(event) {
    const { layout, track, above } = this.grid, day = layout.dayOf(layout.firsts[layout.rowAt(track.value - above + 1)]);
    const other = { ArrowUp: day - 1, ArrowDown: day + 1, PageUp: day - 30, PageDown: day + 30, Home: 0, End: layout.days.length }[event.key];
    if (other === undefined) return;
    event.preventDefault();
    if (other <= 0) track.go(0);
    else if (other >= layout.days.length) track.go(track.most);
    else track.go(above + layout.tops[layout.rowOf(layout.dayStarts[other])]);
  }
}
