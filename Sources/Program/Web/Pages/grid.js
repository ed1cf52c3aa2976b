// The gallery: all pictures have a place, those near the view are in the document.
import { get, tail } from "./api.js";
import { bound, calm, clock, dayName, h, put } from "./dom.js";
import { headingHeight, makeLayout } from "./layout.js";
import { assets, chunkLength, chunkOf, makeRecords } from "./records.js";
import * as track from "./track.js";

const states = { failed: "Failed", waiting: "Waiting" };
const around = 900; // pixels beyond the view that are in the document
const below = 72; // pixels below the last picture

/** What scrolls with the pictures, above the first. */
export const summary = h("div.summary");
const { box, canvas } = track, sheet = h("div.sheet");

/**
 * What is shown: `above` is the height of the summary, `grown` counts pictures that came above the
 * view.
 */
export let query, layout, records, revision, count = 0, above = 0, grown = 0;
/** The picture that keys act on, or -1. */
export let active = -1;
let holds = false; // it has the focus, also while it is not in the document

let days, aspects, moved;
// In the document: pictures by place, headings by day; from where they are positioned, in which
// layout and width.
export const tiles = new Map(), headings = new Map();
let origin = 0, placed, measured;
let drawn, fast, frame, soon, resting, again;

/** Begins; `act` is called when the view has changed. */
export function begin(act) {
  moved = act;
  canvas.append(summary, sheet);
  track.begin(later);
  new ResizeObserver(resized).observe(box);
  box.addEventListener("focusin", ({ target: { index } }) => {
    holds = index !== undefined;
    if (holds && index !== active) activate(index);
  });
  box.addEventListener("focusout", ({ relatedTarget }) => { if (relatedTarget) holds = false; });
}

export const recordAt = (index) => records?.at(index);

/** Fetches what a query finds, and takes it over unless another was asked for meanwhile. */
export async function show(wanted) {
  query = wanted;
  const asked = assets(query).catch(() => null), grid = await get("api/v1/grid" + tail(query)), first = await asked;
  if (query !== wanted) return;
  accept(grid);
  if (first) records.put(0, first);
  active = -1; holds = false; grown = 0;
}

export function accept(grid) {
  records?.stop();
  clear();
  ({ revision, days, count } = grid);
  const bytes = atob(grid.aspects);
  aspects = new Uint8Array(count).map((_, n) => bytes.charCodeAt(n));
  records = makeRecords(query, grid, paintAll, () => { clearTimeout(again); again = setTimeout(later, 2000); });
}

/** Places everything for the width there is; `rows` of an `old` layout stay as they were. */
export function arrange(place, old, rows) {
  const width = measured = canvas.clientWidth, phone = width < 560;
  const target = phone ? Math.round(Math.max(96, width / 3.4)) : width < 1100 ? 180 : width < 2000 ? 210 : 250;
  above = summary.offsetHeight;
  take(makeLayout(aspects, days, width, target, phone ? 3 : 6, old, rows), place);
}

function take(next, place) {
  layout = next;
  track.resize(above + layout.height + below, box.clientHeight, place);
}

function resized() {
  if (!layout || !canvas.clientWidth) return;
  if (canvas.clientWidth === measured) return take(layout);
  const { index, y } = anchor();
  arrange(0);
  if (index) track.go(topOf(index) - y);
}

const topOf = (index) => above + layout.topOf(layout.rowOf(index));

/** The first picture that is wholly in view, and where it is. */
function anchor() {
  if (!layout.rows) return { index: 0, y: 0 };
  let [row] = rowsInView();
  if (above + layout.topOf(row) < track.value && row + 1 < layout.rows) row += 1;
  return { index: layout.firsts[row], y: above + layout.topOf(row) - track.value };
}

/** The first row in view and the last; of a larger view with `more` pixels at both ends. */
function rowsInView(more = 0) {
  const y = track.value - above;
  return [layout.rowAt(y - more), layout.rowAt(y + track.view + more)];
}

/**
 * An asset and its place in this order, which the next of the known keys tells; null if it is not
 * found.
 */
export async function find(id, { keys, count } = records) {
  const found = await assets(query, id), known = new Set(keys), at = found.findIndex((record) => known.has(record.id));
  if (found[0]?.id !== id) return null;
  return { record: found[0], index: at < 0 ? count - found.length : keys.indexOf(found[at].id) * chunkLength - at };
}

/** Takes over what has changed, without moving what is in view. */
export async function refresh() {
  const asked = query, grid = await get("api/v1/grid" + tail(query));
  if (query !== asked || grid.revision === revision) return;
  // What is in view is looked up and fetched before anything moves.
  const [top, bottom] = rowsInView(), before = layout.firsts[top] ?? 0, id = recordAt(before)?.id;
  const found = id && (await find(id, grid).catch(() => null));
  const index = bound(found?.index ?? before, 0, grid.count - 1), last = index + (layout.rows ? layout.end(bottom) - before : 0);
  const chunk = chunkOf(index), pages = await Promise.all(grid.keys.slice(chunk, chunkOf(last) + 1).map((key) => assets(asked, key)));
  if (query === asked) takeOver(grid, chunk, pages);
}

/** Shows a grid in place of another one, with the records of those chunks that are in view. */
function takeOver(grid, chunk, pages) {
  const old = layout, at = track.value - above, [from, to] = rowsInView(), rows = [];
  const places = new Map(pages.flat().map(({ id }, n) => [id, chunk * chunkLength + n])), now = (index) => places.get(recordAt(index)?.id);
  for (let row = from; row <= to; row += 1) {
    const begin = old.firsts[row], first = now(begin);
    if (first === undefined) continue;
    let end = begin + 1;
    while (now(end) === first + end - begin) end += 1;
    // Whether its pictures are still one behind the other.
    rows.push({ row, first, isWhole: end >= old.end(row) });
  }
  // Tiles of pictures that are as they were stay; the others go, once new ones are there.
  const shown = [...tiles.values()].map((tile) => ({ tile, record: recordAt(tile.index), area: tile.getBoundingClientRect() }));
  active = now(active) ?? -1;
  tiles.clear();
  accept(grid);
  pages.forEach((page, n) => records.put(chunk + n, page));
  for (const { tile, record } of shown) {
    tile.index = places.get(record?.id);
    if (record && JSON.stringify(record) === JSON.stringify(recordAt(tile.index))) tiles.set(tile.index, tile);
  }
  arrange(track.value, old, rows.filter(({ isWhole }) => isWhole));
  // What stays where it is: a row that is wholly in view, if there is one.
  const { kept } = layout, fixed = kept.find(({ row }) => old.topOf(row) >= at) ?? kept[0] ?? rows[0];
  if (fixed) {
    // What has no date yet may be above the view for a moment, and then below it.
    grown = Math.max(0, grown + fixed.first - old.firsts[fixed.row]);
    track.go(topOf(fixed.first) - (old.topOf(fixed.row) - at));
  }
  drawn = track.value;
  draw();
  for (const { tile, area } of shown) if (tiles.get(tile.index) === tile) slide(tile, area); else discard(tile);
}

/** What has to make room moves there. */
function slide(tile, { left, top }) {
  const now = tile.getBoundingClientRect(), x = left - now.left, y = top - now.top, seen = (at) => at > -now.height && at < innerHeight;
  if (Math.abs(x) + Math.abs(y) > 1 && seen(top) && seen(now.top) && !calm()) tile.animate({ transform: [`translate(${x}px, ${y}px)`, "none"] }, { duration: 200, easing: "ease-out" });
}

/** Gives up the rows that a refresh kept, once nothing in view depends on them. */
function rest() {
  const fresh = makeLayout(aspects, days, layout.width, layout.target, layout.gap), [from, to] = rowsInView();
  const by = fresh.rowOf(layout.firsts[from]) - from;
  for (let row = from; row <= to; row += 1) {
    if (fresh.firsts[row + by] !== layout.firsts[row] || fresh.heights[row + by] !== layout.heights[row]) return;
  }
  take(fresh, track.value + fresh.topOf(from + by) - layout.topOf(from));
  draw();
}

/** Shows the newest, all in order. */
export function toTop() {
  arrange(0);
  draw();
}

/** Removes what is not between two pictures. */
function clear(first = 0, last = -1) {
  for (const shown of [tiles, headings]) for (const [key, element] of shown) {
    if (element.index >= first - 0.5 && element.index <= last) continue;
    shown.delete(key);
    discard(element);
  }
}

function discard(element) {
  element.querySelector("img")?.removeAttribute("src"); // ends its transfer
  element.remove();
}

function later() { frame ??= requestAnimationFrame(draw); }

/** Brings the document up to date with the view. */
export function draw() {
  cancelAnimationFrame(frame); frame = null;
  if (!layout) return;
  const { value, view } = track;
  // Who jumps through the years sees the places; pictures come where the view stays.
  fast = Math.abs(value - drawn) > 2 * view;
  drawn = value;
  const isNew = placed !== layout || Math.abs(value - origin) > 1e6;
  if (isNew) { placed = layout; origin = value; }
  put(sheet, 0, origin - track.offset());
  put(summary, 0, -track.offset());
  summary.classList.toggle("away", value > above);
  if (value < 4) grown = 0;
  if (layout.rows) {
    const [from, to] = rowsInView(fast ? 0 : around), first = layout.firsts[from], last = layout.end(to) - 1;
    clear(first, last);
    // A row is in the document as a whole, or not at all.
    for (let row = from; row <= to; row += 1) if (isNew || !tiles.has(layout.firsts[row])) drawRow(row);
    clearTimeout(soon);
    if (fast) soon = setTimeout(() => { draw(); paintAll(); }, 90); else records.want(first, last);
    clearTimeout(resting);
    if (layout.kept.length) resting = setTimeout(() => { if (placed === layout) rest(); }, 500);
  } else clear();
  moved();
}

function drawRow(row) {
  const { cells, headings: begun, height, top, headingTop } = layout.cells(row), base = above - origin;
  for (const { day, x, width } of begun) {
    const [date] = layout.days[day], name = dayName(date);
    const heading = headings.get(day) ?? insert(h("h2.day", date ? h("a", { href: `day/${date}` }, name) : name), layout.dayStarts[day] - 0.5);
    headings.set(day, heading);
    put(heading, x, base + headingTop, width, headingHeight);
  }
  for (const { index, x, width } of cells) {
    const tile = tiles.get(index) ?? insert(h("a.tile"), index);
    tiles.set(index, tile);
    put(tile, x, base + top, width, height);
    tile.long = Math.max(width, height);
    paint(tile);
  }
}

/** Tiles and headings are in the order of their places, for those who go by Tab or listen. */
function insert(element, index) {
  element.index = index;
  return sheet.insertBefore(element, [...sheet.children].find((other) => other.index > index) ?? null);
}

function paintAll() { for (const tile of tiles.values()) paint(tile); }

function paint(tile) {
  const record = recordAt(tile.index);
  if (!record || fast || tile.href) return;
  const { id, name, thumbnail, preview, colour, duration } = record;
  tile.href = `a/${id}` + tail(query);
  mark(tile);
  if (!thumbnail) return card(tile, record);
  if (colour) tile.style.backgroundColor = colour;
  const src = preview && tile.long * devicePixelRatio > 400 ? preview : thumbnail;
  tile.append(h("img", { alt: name, decoding: "async", draggable: false, onerror: () => { if (tile.isConnected) card(tile, record); }, src }));
  if (duration != null) tile.append(h("span.badge", h("span.unseen", "Video, "), clock(duration)));
}

/** A quiet card for what has no picture. */
function card(tile, { state, reason, kind, name }) {
  tile.classList.add("card", state);
  tile.style.backgroundColor = "";
  tile.title = reason ?? "";
  tile.replaceChildren(h("span.kind", kind), h("bdi.name", name), h("span.why", states[state] ?? "No preview"));
}

/** Tab reaches the active picture only; arrows reach all. */
function mark(tile) {
  const isActive = tile.index === active;
  tile.tabIndex = isActive || (active < 0 && tile.index === layout.firsts[0]) ? 0 : -1;
  if (isActive && holds) tile.focus({ preventScroll: true });
}

/** Makes a picture the active one, and brings it into view. */
export function activate(index) {
  if (!count) return;
  active = bound(index, 0, count - 1);
  holds = true;
  reveal(layout.rowOf(active));
  draw();
  for (const tile of tiles.values()) if (tile.href) mark(tile);
}

function reveal(row) {
  const room = 12, top = above + layout.tops[row] - room, bottom = above + layout.topOf(row) + layout.heights[row] + room;
  if (row === 0) track.go(0);
  else if (row === layout.rows - 1) track.go(track.most);
  else track.go(Math.min(top, Math.max(bottom - track.view, track.value)));
}

/** Acts on a key; tells whether it was one of the grid's. */
export function key(key) {
  if (!layout?.rows) return false;
  const at = active < 0 ? anchor().index : active, row = layout.rowOf(at);
  const page = Math.max(1, layout.rowAt(layout.tops[row] + track.view * 0.85) - row), by = (rows) => () => layout.vertical(at, rows);
  const to = {
    ArrowLeft: () => at - 1, ArrowRight: () => at + 1, ArrowUp: by(-1), ArrowDown: by(1),
    PageUp: by(-page), PageDown: by(page), Home: () => 0, End: () => count - 1,
  }[key];
  // The first arrow only shows where one is.
  if (to) activate(active < 0 && key.startsWith("Arrow") ? at : to());
  return Boolean(to);
}
