// The gallery: all pictures have a place, those near the view are in the document.
import { get, tail } from "./api.js";
import { bdi, calm, clock, dayName, h } from "./dom.js";
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
  /** A picture and those behind it. */
  from(id) { return get("api/v1/assets" + tail({ ...this.query, from: id, limit: chunkLength })); }

  /** Fetches what a query finds; false if another was asked for meanwhile. */
  async show(query) {
    const wanted = this.query = query, first = this.from().catch(() => null);
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

  /** Places everything for the width there is; `rows` of an `old` layout stay as they were. */
  arrange(place, old, rows) {
    const width = this.measured = this.canvas.clientWidth, phone = width < 560;
    const target = phone ? Math.round(Math.max(96, width / 3.4)) : width < 1100 ? 180 : width < 2000 ? 210 : 250;
    this.above = this.summary.offsetHeight;
    this.take(new Layout(this.aspects, this.days, width, target, phone ? 3 : 6, old, rows), place);
  }

  take(layout, place) {
    this.layout = layout;
    this.track.resize(this.above + layout.height + below, this.box.clientHeight, place);
  }

  resized() {
    if (!this.layout || !this.canvas.clientWidth) return;
    if (this.canvas.clientWidth === this.measured) return this.take(this.layout);
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

  /** The first row in view and the last. */
  rowsInView() {
    const { layout, track, above } = this;
    return [layout.rowAt(track.value - above), layout.rowAt(track.value + track.view - above)];
  }

  /** An asset and its place in this order, which the next of the known keys tells; null if it is not found. */
  async find(id, { keys, count } = this.records) {
    const { assets } = await this.from(id), places = new Map(keys.map((key, n) => [key, n * chunkLength]));
    if (assets[0]?.id !== id) return null;
    const at = assets.findIndex((asset) => places.has(asset.id));
    return { record: assets[0], index: at < 0 ? count - assets.length : places.get(assets[at].id) - at };
  }

  /** Takes over what has changed, without moving what is in view. */
  async refresh() {
    const { query } = this, grid = await get("api/v1/grid" + tail(query));
    if (query !== this.query || grid.revision === this.revision) return;
    // What is in view is looked up and fetched before anything moves.
    const [top, bottom] = this.rowsInView(), before = this.layout.firsts[top] ?? 0, id = this.record(before)?.id;
    const found = id && (await this.find(id, grid).catch(() => null));
    const index = Math.max(0, Math.min(grid.count - 1, found?.index ?? before));
    const chunk = Math.floor(index / chunkLength), last = index + (this.layout.rows ? this.layout.end(bottom) - before : 0);
    const pages = await Promise.all(grid.keys.slice(chunk, Math.floor(last / chunkLength) + 1).map((key) => this.from(key)));
    if (query === this.query) this.takeOver(grid, chunk, pages.map(({ assets }) => assets));
  }

  /** Shows a grid in place of another one, with the records of those chunks that are in view. */
  takeOver(grid, chunk, pages) {
    const { layout: old, track } = this, at = track.value - this.above, activeID = this.record(this.active)?.id;
    const places = new Map(pages.flat().map(({ id }, n) => [id, chunk * chunkLength + n])), now = (index) => places.get(this.record(index)?.id);
    const rows = [], [from, to] = this.rowsInView();
    for (let row = from; row <= to; row += 1) {
      const begin = old.firsts[row], first = now(begin);
      if (first === undefined) continue;
      let end = begin;
      while (end < old.end(row) && now(end) === first + end - begin) end += 1;
      // Whether its pictures are still one behind the other.
      rows.push({ row, first, isWhole: end === old.end(row) });
    }
    this.old = new Map();
    for (const [index, tile] of this.tiles) {
      const record = this.record(index);
      if (record) this.old.set(record.id, { tile, record: JSON.stringify(record), box: tile.getBoundingClientRect() });
    }
    this.tiles.clear();
    this.accept(grid);
    pages.forEach((assets, n) => this.records.put(chunk + n, assets));
    this.active = places.get(activeID) ?? -1;
    this.arrange(track.value, old, rows.filter(({ isWhole }) => isWhole));
    // What stays where it is: a row that is wholly in view, if there is one.
    const { kept } = this.layout, fixed = kept.find(({ row }) => old.topOf(row) >= at) ?? kept[0] ?? rows[0];
    if (fixed) {
      // What has no date yet may be above the view for a moment, and then below it.
      this.grown = Math.max(0, this.grown + fixed.first - old.firsts[fixed.row]);
      track.go(this.topOf(fixed.first) - (old.topOf(fixed.row) - at));
    }
    this.drawn = track.value;
    this.draw();
    for (const { tile, box } of this.old.values()) if (this.tiles.get(tile.index) === tile) this.slide(tile, box); else this.discard(tile);
    this.old = null;
  }

  /** What has to make room moves there. */
  slide(tile, { left, top }) {
    const now = tile.getBoundingClientRect(), x = left - now.left, y = top - now.top, seen = (at) => at > -now.height && at < innerHeight;
    if (Math.abs(x) + Math.abs(y) > 1 && seen(top) && seen(now.top) && !calm()) tile.animate({ translate: [`${x}px ${y}px`, "0 0"] }, { duration: 200, easing: "ease-out" });
  }

  /** Gives up the rows that a refresh kept, once nothing in view depends on them. */
  rest() {
    const { layout, track } = this, fresh = new Layout(this.aspects, this.days, layout.width, layout.target, layout.gap), [from, to] = this.rowsInView();
    const by = fresh.rowOf(layout.firsts[from]) - from;
    for (let row = from; row <= to; row += 1) {
      if (fresh.firsts[row + by] !== layout.firsts[row] || fresh.heights[row + by] !== layout.heights[row]) return;
    }
    this.take(fresh, track.value + fresh.topOf(from + by) - layout.topOf(from));
    this.draw();
  }

  /** Shows the newest, all in order. */
  toTop() {
    this.grown = 0;
    this.arrange(0);
    this.draw();
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
    clearTimeout(this.resting);
    if (layout.kept.length) this.resting = setTimeout(() => this.layout === layout && this.rest(), 500);
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
