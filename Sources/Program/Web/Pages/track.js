// One scroll box for a library of any height. Browsers bound the height of a box (16 to 33 million pixels), so a box of at most
// 8 million stands for the whole: scrolling moves by real pixels, jumps go by proportion, and a pause brings both together.

const highest = 8_000_000;

export class Track {
  constructor(box, canvas, moved) {
    Object.assign(this, { box, canvas, moved, value: 0, last: 0 });
    box.addEventListener("scroll", () => this.scrolled(), { passive: true });
  }

  /** Takes the height of everything and of what is seen of it. */
  resize(total, view, value = this.value) {
    const real = Math.min(Math.max(total, view), highest);
    this.canvas.style.height = `${real}px`;
    Object.assign(this, { view, most: Math.max(0, total - view), mostScroll: real - view });
    this.go(value);
  }

  /** From one scale to another: near both ends a pixel is a pixel, between them it stands for several. */
  map(place, from, to) {
    const end = this.mostScroll / 8;
    if (from === to || place < end) return place;
    if (place > from - end) return to - (from - place);
    return Math.round(end + ((place - end) * (to - 2 * end)) / (from - 2 * end));
  }

  toScroll(value) { return this.map(value, this.most, this.mostScroll); }

  /** What has to be subtracted from a place in the library for its place in the box. */
  get offset() { return this.value - this.last; }

  go(value) {
    this.value = Math.round(Math.min(this.most, Math.max(0, value)));
    this.settle();
    this.moved();
  }

  /** Puts the scroll position where the value belongs. */
  settle() {
    this.box.scrollTop = this.toScroll(this.value);
    this.last = this.box.scrollTop;
  }

  scrolled() {
    const scroll = this.box.scrollTop, step = scroll - this.last;
    if (!step) return;
    this.value = Math.abs(step) > 4 * this.view ? this.map(scroll, this.mostScroll, this.most) : Math.min(this.most, Math.max(0, this.value + step));
    this.last = scroll;
    if (this.most > this.mostScroll) {
      const off = () => Math.abs(this.toScroll(this.value) - this.last) > 1;
      if ((scroll < this.view || scroll > this.mostScroll - this.view) && off()) this.settle();
      clearTimeout(this.pause);
      this.pause = setTimeout(() => { if (off()) { this.settle(); this.moved(); } }, 250);
    }
    this.moved();
  }
}
