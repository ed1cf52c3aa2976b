// The gallery: all pictures have a place, those near the view are in the document.
import { get, tail } from "./api.js";
import { bdi, clock, dayName, h } from "./dom.js";
import { Layout } from "./layout.js";
import { Records, chunkLength } from "./records.js";
import { Track } from "./track.js";

const states = { failed: "Failed", waiting: "Waiting" };
const around = 900; // pixels beyond the view that are in the document
const below = 72; // pixels below the last picture

export class Grid {
  /** `summary` scrolls with the pictures, above the first; `moved` is called when the view has changed. */
  constructor(box, summary, moved) {
    // active: the picture that keys act on. holds: it has the focus, also while it is not in the document.
    // grown: pictures that came above the view. origin: the place that tiles are positioned from.
    Object.assign(this, { box, summary, moved, tiles: new Map(), headings: new Map(), active: -1, holds: false, grown: 0, origin: 0 });
    this.sheet = h("div.sheet");
    this.canvas = h("div.canvas", {}, summary, this.sheet);
    box.append(this.canvas);
    this.track = new Track(box, this.canvas, () => this.later());
    new ResizeObserver(() => this.resized()).observe(box);
  }

  get count() { return this.aspects?.length ?? 0; }
  record(index) { return this.records?.at(index); }
  chunk(keys, n) { return get("api/v1/assets" + tail({ ...this.query, from: keys[n], limit: chunkLength })); }

  /** Fetches what a query finds; false if another was asked for meanwhile. */
  async show(query) {
    const wanted = this.query = query, first = this.chunk([], 0).catch(() => null);
    const grid = await get("api/v1/grid" + tail(wanted)), begin = await first;
    if (this.query !== wanted) return false;
    this.accept(grid);
    if (begin) this.records.put(0, begin.assets);
    Object.assign(this, { active: -1, holds: false, grown: 0 });
    return true;
  }

  accept(grid) {
    this.records?.stop();
    this.clear();
    this.revision = grid.revision;
    this.days = grid.days;
    const bytes = atob(grid.aspects);
    this.aspects = new Uint8Array(bytes.length);
    for (let n = 0; n < bytes.length; n += 1) this.aspects[n] = bytes.charCodeAt(n);
    this.records = new Records(this.query, grid, () => this.paintAll(), () => { clearTimeout(this.again); this.again = setTimeout(() => this.later(), 2000); });
  }

  /** Places everything for the width there is. */
  arrange(place) {
    const width = this.measured = this.canvas.clientWidth, phone = width < 560;
    const target = phone ? Math.round(Math.max(96, width / 3.4)) : width < 1100 ? 180 : width < 2000 ? 210 : 250;
    this.layout = new Layout(this.aspects, this.days, width, target, phone ? 3 : 6);
    this.above = this.summary.offsetHeight;
    this.track.resize(this.above + this.layout.height + below, this.box.clientHeight, place);
  }

  resized() {
    if (!this.layout || !this.canvas.clientWidth) return;
    if (this.canvas.clientWidth === this.measured) return this.track.resize(this.above + this.layout.height + below, this.box.clientHeight);
    const { index, y } = this.anchor();
    this.arrange(0);
    if (index) this.track.go(this.topOf(index) - y);
  }

  topOf(index) { return this.above + this.layout.topOf(this.layout.rowOf(index)); }

  /** The first picture that is wholly in view, and where it is. */
  anchor() {
    const { layout, track } = this;
    if (!layout.rows) return { index: 0, y: 0 };
    let row = layout.rowAt(track.value - this.above);
    if (this.above + layout.topOf(row) < track.value && row + 1 < layout.rows) row += 1;
    return { index: layout.firsts[row], y: this.above + layout.topOf(row) - track.value };
  }

  /** Where an asset is in this query's order, or null. */
  async find(id) { return (await get(`api/v1/assets/${id}` + tail(this.query))).index ?? null; }

  /** Takes over what has changed, without moving what is in view. */
  async refresh() {
    const { query } = this, grid = await get("api/v1/grid" + tail(query));
    if (query !== this.query || grid.revision === this.revision) return;
    // What is in view is looked up and fetched before anything moves.
    const { index: before } = this.anchor(), id = this.record(before)?.id;
    const place = id && (await this.find(id).catch(() => null)), index = Math.max(0, Math.min(grid.count - 1, place ?? before));
    const n = Math.floor(index / chunkLength), { assets } = await this.chunk(grid.keys, n);
    if (query !== this.query) return;
    const { y } = this.layout.rows ? { y: this.topOf(before) - this.track.value } : { y: 0 }, activeID = this.record(this.active)?.id;
    this.old = new Map();
    for (const [at, tile] of this.tiles) { const record = this.record(at); if (record) this.old.set(record.id, { tile, record: JSON.stringify(record) }); }
    this.tiles.clear();
    if (place != null) this.grown += Math.max(0, index - before);
    this.accept(grid);
    this.records.put(n, assets);
    const active = assets.findIndex((a) => a.id === activeID);
    this.active = active < 0 ? -1 : n * chunkLength + active;
    this.arrange(this.track.value);
    if (grid.count) this.track.go(this.topOf(index) - y);
    this.draw();
    for (const { tile } of this.old.values()) if (this.tiles.get(tile.index) !== tile) this.discard(tile);
    this.old = null;
  }

  clear() {
    for (const tile of this.tiles.values()) this.discard(tile);
    for (const heading of this.headings.values()) heading.remove();
    this.tiles.clear(); this.headings.clear();
  }

  discard(tile) {
    tile.querySelector("img")?.removeAttribute("src"); // ends its transfer
    tile.remove();
  }

  later() { this.frame ??= requestAnimationFrame(() => this.draw()); }

  /** Brings the document up to date with the view. */
  draw() {
    cancelAnimationFrame(this.frame); this.frame = null;
    const { layout, track, tiles, headings } = this, { value, view } = track;
    if (!layout) return;
    // Who jumps through the years sees the places; pictures come where the view stays.
    const fast = this.fast = Math.abs(value - this.drawn) > 2 * view, reach = fast ? 0 : around;
    this.drawn = value;
    if (this.placed !== layout || Math.abs(value - this.origin) > 1e6) { this.placed = layout; this.origin = value; this.rows = new Set(); }
    this.sheet.style.transform = `translateY(${this.origin - track.offset}px)`;
    this.summary.style.transform = `translateY(${-track.offset}px)`;
    this.summary.classList.toggle("away", value > this.above);
    if (!layout.rows) { this.clear(); return this.moved(); }
    const from = layout.rowAt(value - this.above - reach), to = layout.rowAt(value - this.above + view + reach);
    const first = layout.firsts[from], last = layout.end(to) - 1;
    for (const [index, tile] of tiles) if (index < first || index > last) { tiles.delete(index); this.discard(tile); }
    for (const [day, heading] of headings) if (layout.dayStarts[day] < first || layout.dayStarts[day] > last) { headings.delete(day); heading.remove(); }
    for (const row of this.rows) if (row < from || row > to) this.rows.delete(row);
    for (let row = from; row <= to; row += 1) if (!this.rows.has(row)) this.drawRow(row);
    clearTimeout(this.soon);
    if (fast) this.soon = setTimeout(() => { this.rows.clear(); this.draw(); }, 90); else this.records.want(first, last);
    this.moved();
  }

  drawRow(row) {
    const { cells, headings, top, height, headingTop } = this.layout.cells(row), base = this.above - this.origin;
    this.rows.add(row);
    for (const { index, x, width } of cells) {
      let tile = this.tiles.get(index);
      if (!tile) {
        const record = this.record(index), old = record && this.old?.get(record.id);
        tile = old && old.record === JSON.stringify(record) ? old.tile : h("a.tile.empty");
        tile.index = index;
        this.tiles.set(index, tile);
        if (!tile.isConnected) this.insert(tile, index);
      }
      Object.assign(tile.style, { transform: `translate(${x}px, ${base + top}px)`, width: `${width}px`, height: `${height}px` });
      tile.long = Math.max(width, height);
      this.paint(tile);
    }
    for (const { day, x, width } of headings) {
      const date = this.layout.days[day][0];
      const heading = this.headings.get(day) ?? h("h2.day", {}, date ? h("a", { href: `day/${date}` }, dayName(date)) : dayName(date));
      this.headings.set(day, heading);
      if (!heading.isConnected) this.tiles.get(this.layout.dayStarts[day]).before(heading);
      Object.assign(heading.style, { transform: `translate(${x}px, ${base + headingTop}px)`, width: `${width}px` });
    }
  }

  /** Tiles are in the order of their places, for those who go by Tab or listen. */
  insert(tile, index) {
    const before = this.tiles.get(index - 1), next = this.tiles.get(index + 1);
    if (before?.isConnected) before.after(tile);
    else if (next?.isConnected) (next.previousElementSibling?.tagName === "H2" ? next.previousElementSibling : next).before(tile);
    else this.sheet.append(tile);
  }

  paintAll() { for (const tile of this.tiles.values()) this.paint(tile); }

  paint(tile) {
    const record = this.record(tile.index);
    if (!record || this.fast || !tile.classList.contains("empty")) return;
    tile.classList.remove("empty");
    tile.href = `a/${record.id}` + tail(this.query);
    this.mark(tile);
    if (!record.thumbnail) return this.card(tile, record);
    if (record.colour) tile.style.backgroundColor = record.colour;
    const src = record.preview && tile.long * devicePixelRatio > 400 ? record.preview : record.thumbnail;
    tile.append(h("img", { alt: record.name, decoding: "async", draggable: false, src, on: { error: () => tile.isConnected && this.card(tile, record) } }));
    if (record.duration != null) tile.append(h("span.badge", {}, h("span.unseen", {}, "Video, "), clock(record.duration)));
  }

  /** A quiet card for what has no picture. */
  card(tile, record) {
    tile.classList.add("card", record.state);
    tile.style.backgroundColor = "";
    tile.title = record.reason ?? "";
    tile.replaceChildren(h("span.kind", {}, record.kind), bdi(record.name), h("span.why", {}, states[record.state] ?? "No preview"));
  }

  /** Tab reaches the active picture only; arrows reach all. */
  mark(tile) {
    const active = tile.index === this.active;
    tile.tabIndex = active || (this.active < 0 && tile.index === this.layout.firsts[0]) ? 0 : -1;
    if (active && this.holds) tile.focus({ preventScroll: true });
  }

  /** Makes a picture the active one, and brings it into view. */
  activate(index, focus = true) {
    if (!this.count) return;
    this.active = Math.min(this.count - 1, Math.max(0, index));
    this.holds = focus;
    this.reveal(this.active);
    this.draw();
    for (const tile of this.tiles.values()) if (tile.hasAttribute("href")) this.mark(tile);
  }

  reveal(index) {
    const { layout, track } = this, row = layout.rowOf(index), room = 12;
    const top = this.above + layout.tops[row] - room, bottom = this.above + layout.topOf(row) + layout.heights[row] + room;
    if (row === 0) track.go(0);
    else if (row === layout.rows - 1) track.go(track.most);
    else if (top < track.value) track.go(top);
    else if (bottom > track.value + track.view) track.go(bottom - track.view);
  }

  /** Acts on a key; tells whether it was one of the grid's. */
  key(key) {
    const { layout, active, track } = this;
    if (!layout?.rows) return false;
    const at = active < 0 ? this.anchor().index : active, row = layout.rowOf(at);
    const page = Math.max(1, layout.rowAt(layout.tops[row] + track.view * 0.85) - row);
    const to = {
      ArrowLeft: at - 1, ArrowRight: at + 1, ArrowUp: () => layout.vertical(at, -1), ArrowDown: () => layout.vertical(at, 1),
      PageUp: () => layout.vertical(at, -page), PageDown: () => layout.vertical(at, page), Home: 0, End: this.count - 1,
    }[key];
    if (to === undefined) return false;
    // The first arrow only shows where one is.
    this.activate(active < 0 && key.startsWith("Arrow") ? at : to.call ? to() : to);
    return true;
  }
}
