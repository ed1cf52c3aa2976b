// One picture over the gallery: previous and next, zoom, swipe, facts.
import { allows, hasOriginals, tail } from "./api.js";
import { calm, h, iconButton, number, toast } from "./dom.js";
import { facts, trash } from "./facts.js";
import { Slide } from "./slide.js";

const beside = 24; // pixels between two slides

export class Viewer {
  /** `grid` has the order; `went` is called with what is shown, `closed` at the end. */
  constructor(grid, { went, closed }) {
    Object.assign(this, { grid, went, closed, slides: new Map(), pointers: new Map(), index: -1 });
    this.place = h("span.place");
    this.factsButton = iconButton("facts", "Facts (i)", () => this.toggleFacts());
    this.zoomButton = iconButton("zoom", "Full size (z)", () => this.current.toggle());
    this.download = h("a.icon.download-icon", { title: "Download the original (d)", "aria-label": "Download the original", download: "" });
    this.before = iconButton("before", "Previous (←)", () => this.step(-1), ".turn");
    this.after = iconButton("after", "Next (→)", () => this.step(1), ".turn");
    this.stage = h("div.slides", { tabIndex: -1 });
    this.panel = h("aside.panel", { "aria-label": "Facts", tabIndex: 0, hidden: true });
    this.live = h("p.unseen", { "aria-live": "polite" });
    this.dialog = h("dialog.viewer", {},
      h("div.tools", {}, iconButton("close", "Close (Escape)", () => this.close()), this.place, h("span.space"), this.zoomButton, hasOriginals && this.download,
        allows("trash") && iconButton("trash", "Put into the trash", () => this.trash()), this.factsButton),
      this.stage, this.before, this.after, this.panel, this.live);
    this.dialog.addEventListener("cancel", (e) => { e.preventDefault(); this.close(); });
    this.listen();
    document.body.append(this.dialog);
    new ResizeObserver(() => this.fit()).observe(this.stage);
  }

  get open() { return this.dialog.open; }
  get current() { return this.slides.get(0); }
  get id() { return this.record?.id; }

  /** Shows a picture; `from` is the tile that it grows out of. */
  show(index, record, from) {
    const opening = !this.open;
    Object.assign(this, { index, record });
    if (opening) {
      this.dialog.showModal();
      this.showPanel(localStorage.facts === "shown" && innerWidth >= 900);
      this.stage.focus();
    }
    this.fill();
    if (opening && from && !calm()) this.grow(from);
    this.tell();
  }

  /** The slides of this picture, of the one before and of the one after. */
  fill() {
    const { index, grid } = this, old = [...this.slides.values()], slides = new Map();
    for (const side of index < 0 ? [0] : [0, 1, -1]) {
      const record = side ? grid.record(index + side) : this.record;
      if (!record) {
        // At a chunk's end the next record may still have to come.
        grid.records.one(index + side).then((r) => { if (r && this.index === index && !this.slides.has(side)) this.fill(); }, () => {});
        continue;
      }
      const slide = old.find((known) => known.record.id === record.id) ?? new Slide(record);
      slide.attend(side === 0);
      if (!slide.element.isConnected) this.stage.append(slide.element);
      slide.element.inert = side !== 0;
      slides.set(side, slide);
    }
    this.slides = slides;
    for (const slide of old) if (slides.get(0) !== slide && slides.get(1) !== slide && slides.get(-1) !== slide) slide.remove();
    this.fit();
  }

  fit() {
    if (!this.open) return;
    const { clientWidth: width, clientHeight: height } = this.stage;
    for (const slide of this.slides.values()) slide.fit(width, height);
    this.slideTo(0);
  }

  slideTo(dx, dy = 0, smooth = false) {
    const width = this.stage.clientWidth + beside;
    for (const [side, { element }] of this.slides) {
      element.style.transition = smooth && !calm() ? "transform .22s cubic-bezier(.2,.7,.3,1)" : "none";
      element.style.transform = `translate(${side * width + dx}px, ${side === 0 ? dy : 0}px)`;
    }
    this.dialog.style.setProperty("--shade", String(Math.max(0.2, 1 - Math.abs(dy) / 500)));
  }

  /** The picture grows out of its tile: both show the same, so nothing jumps. */
  grow(tile) {
    const from = tile.getBoundingClientRect(), stage = this.stage.getBoundingClientRect(), { area, frame, x, y } = this.current;
    if (!from.width || !area.width) return;
    const scale = Math.max(from.width / area.width, from.height / area.height);
    const dx = from.left - stage.left + (from.width - area.width * scale) / 2, dy = from.top - stage.top + (from.height - area.height * scale) / 2;
    const options = { duration: 220, easing: "cubic-bezier(.2,.7,.2,1)" };
    frame.animate([{ transform: `translate(${dx}px, ${dy}px) scale(${scale})` }, { transform: `translate(${x}px, ${y}px) scale(1)` }], options);
    this.dialog.animate([{ backgroundColor: "transparent" }, {}], options);
  }

  tell() {
    const { record } = this;
    this.count();
    this.download.href = `o/${record.id}`;
    this.zoomButton.disabled = !this.current.zoomable;
    this.live.textContent = record.name;
    this.dialog.setAttribute("aria-label", record.name);
    this.went(record);
    if (!this.panel.hidden) this.showFacts();
  }

  count() {
    const { index, grid } = this, known = index >= 0;
    this.place.textContent = known ? `${number(index + 1)} of ${number(grid.count)}` : "";
    this.before.hidden = index <= 0;
    this.after.hidden = !known || index >= grid.count - 1;
  }

  /** The gallery has changed: this picture may have another place. */
  async renew() {
    const { id } = this, found = await this.grid.find(id);
    if (this.id !== id) return;
    this.index = found?.index ?? -1;
    this.fill();
    this.count();
    if (!this.panel.hidden && !this.panel.contains(document.activeElement)) this.showFacts();
  }

  step(by) { return this.go(this.index + by); }

  async go(index) {
    if (this.index < 0 || index < 0 || index >= this.grid.count || index === this.index) return;
    this.wanted = index; // keys may be faster than the network
    const record = await this.grid.records.one(index).catch((error) => toast(error.message));
    if (record && this.wanted === index && this.open) this.show(index, record);
  }

  showPanel(shown) {
    this.panel.hidden = !shown;
    this.dialog.classList.toggle("with-panel", shown);
    this.factsButton.setAttribute("aria-pressed", String(shown));
    this.panel.replaceChildren();
  }

  toggleFacts() {
    this.showPanel(this.panel.hidden);
    localStorage.facts = this.panel.hidden ? "hidden" : "shown";
    if (!this.panel.hidden) this.showFacts();
  }

  /** Reads the facts again; `focused` is the name of the field that had the focus. */
  async showFacts(focused) {
    const { id } = this;
    const element = await facts(id, tail({ ...this.grid.query, part: "facts" }), (name) => this.showFacts(name)).catch((error) => h("p.notice", {}, error.message));
    if (id !== this.id || this.panel.hidden) return;
    this.panel.replaceChildren(element);
    this.panel.querySelector(`[name=${focused}]`)?.focus();
  }

  trash() {
    const { record } = this;
    trash(record, () => { if (this.id !== record.id) return; if (this.after.hidden) this.close(); else this.step(1); });
  }

  /** Goes away, without a word. */
  leave() {
    this.dialog.close();
    for (const slide of this.slides.values()) slide.remove();
    this.slides.clear(); this.pointers.clear();
    Object.assign(this, { record: null, index: -1 });
  }

  close() {
    const { index, record } = this;
    this.leave();
    this.closed(index, record);
  }

  /** Acts on a key; tells whether it was one of the viewer's. */
  key(key, within) {
    const { current } = this, pan = (x, y) => current.zoomed && (() => current.pan(x, y));
    const act = {
      ArrowLeft: pan(120, 0) || (() => this.step(-1)), ArrowRight: pan(-120, 0) || (() => this.step(1)),
      i: () => this.toggleFacts(), z: () => current.toggle(), d: hasOriginals && (() => this.download.click()),
      " ": document.activeElement === this.stage && current.video && (() => current.play()),
      "+": () => current.zoom(current.scale * 1.5), "-": () => current.zoom(current.scale / 1.5), 0: () => current.zoom(1),
      ...(!within && {
        ArrowUp: pan(0, 120), ArrowDown: pan(0, -120), PageUp: () => this.step(-1), PageDown: () => this.step(1),
        Home: () => this.go(0), End: () => this.go(this.grid.count - 1),
      }),
    }[key];
    if (act) act();
    return Boolean(act);
  }

  listen() {
    const { stage } = this;
    const point = (e) => { const area = stage.getBoundingClientRect(); return [e.clientX - area.left, e.clientY - area.top]; };
    stage.addEventListener("wheel", (event) => {
      event.preventDefault();
      const { current } = this, step = event.deltaY * (event.deltaMode ? 30 : 1) * (event.ctrlKey ? 0.012 : 0.004);
      current.zoom(current.scale * 2 ** -step, ...point(event));
    }, { passive: false });
    stage.addEventListener("dblclick", (event) => this.current.toggle(...point(event)));
    stage.addEventListener("pointerdown", (event) => {
      // A film has controls of its own, at its lower edge, and for a mouse everywhere.
      const film = event.target.closest("video");
      if (event.button || (film && (event.pointerType === "mouse" || event.clientY > film.getBoundingClientRect().bottom - 90))) return;
      if (!film) stage.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, point(event));
      // Two fingers only zoom.
      this.drag = { from: point(event), at: event.timeStamp, dx: 0, dy: 0, pinched: this.pointers.size > 1 };
    });
    stage.addEventListener("pointermove", (event) => this.dragged(event, point(event)));
    for (const end of ["pointerup", "pointercancel"]) stage.addEventListener(end, (event) => this.released(event));
  }

  dragged(event, now) {
    const before = this.pointers.get(event.pointerId), { current, drag } = this;
    if (!before) return;
    if (this.pointers.size > 1) {
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
      const far = ([ax, ay], [bx, by]) => Math.hypot(ax - bx, ay - by) || 1;
      const middle = [(now[0] + other[0]) / 2, (now[1] + other[1]) / 2];
      current.zoom((current.scale * far(now, other)) / far(before, other), ...middle);
      current.pan((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
    } else if (current.zoomed) current.pan(now[0] - before[0], now[1] - before[1]);
    else if (!drag.pinched && event.pointerType !== "mouse") {
      drag.dx = now[0] - drag.from[0]; drag.dy = now[1] - drag.from[1];
      drag.axis ??= Math.hypot(drag.dx, drag.dy) < 8 ? undefined : Math.abs(drag.dx) > Math.abs(drag.dy) ? "x" : "y";
      if (drag.axis === "x") this.slideTo(this.slides.has(-Math.sign(drag.dx)) ? drag.dx : drag.dx / 4);
      if (drag.axis === "y") this.slideTo(0, Math.max(0, drag.dy));
    }
    this.pointers.set(event.pointerId, now);
  }

  async released(event) {
    const { drag } = this;
    if (!this.pointers.delete(event.pointerId) || this.pointers.size || !drag.axis) return;
    // Far, or fast.
    const way = drag.axis === "x" ? drag.dx : drag.dy, pace = Math.abs(way) / Math.max(1, event.timeStamp - drag.at);
    const enough = event.type === "pointerup" && (Math.abs(way) > this.stage.clientWidth / 4 || (pace > 0.4 && Math.abs(way) > 24));
    if (drag.axis === "y" && way > 0 && enough) return this.close();
    const side = drag.axis === "x" && enough ? -Math.sign(way) : 0;
    if (!side || !this.slides.has(side)) return this.slideTo(0, 0, true);
    this.slideTo(-side * (this.stage.clientWidth + beside), 0, true);
    if (!calm()) await new Promise((done) => setTimeout(done, 220));
    await this.step(side);
  }
}
