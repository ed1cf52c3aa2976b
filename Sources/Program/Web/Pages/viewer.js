// One picture over the gallery: previous and next, zoom, swipe, facts.
import { allows, hasOriginals, tail } from "./api.js";
import { calm, h, iconButton, number, put, set, toast } from "./dom.js";
import { facts, trash } from "./facts.js";
import * as grid from "./grid.js";
import { makeSlide } from "./slide.js";

const beside = 24; // pixels between two slides

const place = h("span.place"), live = h("p.unseen", { "aria-live": "polite" });
const factsButton = iconButton("facts", "Facts (i)", toggleFacts), zoomButton = iconButton("zoom", "Full size (z)", () => current().toggle());
const before = iconButton("before", "Previous (←)", () => step(-1), ".turn"), after = iconButton("after", "Next (→)", () => step(1), ".turn");
const download = h("a.icon.download-icon", { title: "Download the original (d)", download: "" });
const panel = h("aside.panel", { "aria-label": "Facts", tabIndex: 0, hidden: true });
const stage = h("div.slides", {
  tabIndex: -1,
  onwheel: (event) => {
    event.preventDefault();
    const step = event.deltaY * (event.deltaMode ? 30 : 1) * (event.ctrlKey ? 0.012 : 0.004);
    current().zoom(current().scale * 2 ** -step, ...point(event));
  },
  ondblclick: (event) => current().toggle(...point(event)),
  onpointerdown: press, onpointermove: move, onpointerup: release, onpointercancel: release,
});
export const dialog = h("dialog.viewer", { oncancel: (event) => { event.preventDefault(); close(); } },
  h("div.tools", iconButton("close", "Close (Escape)", close), place, h("span.space"), zoomButton, hasOriginals && download,
    allows("trash") && iconButton("trash", "Put into the trash", discard), factsButton),
  stage, before, after, panel, live);

/** The record of what is shown, and its place in the grid's order, or -1. */
export let record, index = -1;
// The slide of it is 0, those beside it are -1 and 1. wanted: where a key leads that waits for the
// network.
let slides = new Map(), wanted;
let went, closed;

const current = () => slides.get(0);

/** Begins; `went` is called with what is shown, `closed` at the end. */
export function begin(acts) {
  ({ went, closed } = acts);
  document.body.append(dialog);
  new ResizeObserver(fit).observe(stage);
}

/** Shows a picture; `from` is the tile that it grows out of. */
export function show(at, found, from) {
  const opening = !dialog.open;
  index = at;
  record = found;
  if (opening) {
    dialog.showModal();
    showPanel(localStorage.facts === "shown" && innerWidth >= 900);
    stage.focus();
  }
  fill();
  if (opening && from && !calm()) grow(from);
  download.href = `o/${record.id}`;
  zoomButton.disabled = !current().zoomable;
  live.textContent = record.name;
  set(dialog, { "aria-label": record.name });
  went(record);
  if (!panel.hidden) showFacts();
}

/** The slides of this picture, of the one before and of the one after. */
function fill() {
  const old = new Set(slides.values()), at = index;
  slides = new Map();
  for (const side of index < 0 ? [0] : [0, 1, -1]) {
    const own = side ? grid.recordAt(index + side) : record;
    if (!own) {
      // At a chunk's end the next record may still have to come.
      grid.records.one(index + side).then((found) => { if (found && index === at && !slides.has(side)) fill(); }, () => {});
      continue;
    }
    const slide = [...old].find((known) => known.record.id === own.id) ?? makeSlide(own);
    old.delete(slide);
    slide.attend(!side);
    if (!slide.element.isConnected) stage.append(slide.element);
    slide.element.inert = side;
    slides.set(side, slide);
  }
  for (const slide of old) slide.remove();
  fit();
  place.textContent = index < 0 ? "" : `${number(index + 1)} of ${number(grid.count)}`;
  before.hidden = index <= 0;
  after.hidden = index < 0 || index >= grid.count - 1;
}

function fit() {
  if (!dialog.open) return;
  for (const slide of slides.values()) slide.fit(stage.clientWidth, stage.clientHeight);
  slideTo(0);
}

function slideTo(dx, dy = 0, smooth = false) {
  for (const [side, { element }] of slides) {
    element.style.transition = smooth ? "translate .22s cubic-bezier(.2,.7,.3,1)" : "none";
    put(element, side * (stage.clientWidth + beside) + dx, side ? 0 : dy);
  }
  dialog.style.setProperty("--shade", Math.max(0.2, 1 - Math.abs(dy) / 500));
}

/** The picture grows out of its tile: both show the same, so nothing jumps. */
function grow(tile) {
  const { frame } = current(), from = tile.getBoundingClientRect(), to = frame.getBoundingClientRect();
  if (!from.width || !to.width) return;
  const scale = Math.max(from.width / to.width, from.height / to.height);
  const dx = from.left - to.left + (from.width - to.width * scale) / 2, dy = from.top - to.top + (from.height - to.height * scale) / 2;
  const options = { duration: 220, easing: "cubic-bezier(.2,.7,.2,1)" };
  frame.animate({ transform: [`translate(${dx}px, ${dy}px) scale(${scale})`, "none"] }, options);
  dialog.animate([{ backgroundColor: "transparent" }, {}], options);
}

/** The gallery has changed: this picture may have another place. */
export async function renew() {
  const known = record, found = await grid.find(known.id);
  if (record !== known) return;
  index = found?.index ?? -1;
  fill();
  if (!panel.hidden && !panel.contains(document.activeElement)) showFacts();
}

const step = (by) => go(index + by);

async function go(to) {
  if (index < 0 || to < 0 || to >= grid.count || to === index) return;
  wanted = to; // keys may be faster than the network
  const found = await grid.records.one(to).catch(toast);
  if (found && wanted === to && dialog.open) show(to, found);
}

function showPanel(isShown) {
  panel.hidden = !isShown;
  dialog.classList.toggle("with-panel", isShown);
  set(factsButton, { "aria-pressed": isShown });
  panel.replaceChildren();
}

function toggleFacts() {
  showPanel(panel.hidden);
  localStorage.facts = panel.hidden ? "hidden" : "shown";
  if (!panel.hidden) showFacts();
}

/** Reads the facts again; `focused` is the name of the field that had the focus. */
async function showFacts(focused) {
  const { id } = record;
  const element = await facts(id, tail({ ...grid.query, part: "facts" }), showFacts).catch((error) => h("p.notice", error.message));
  if (id !== record?.id || panel.hidden) return;
  panel.replaceChildren(element);
  panel.querySelector(`[name=${focused}]`)?.focus();
}

function discard() {
  const { id } = record;
  trash(record, () => { if (record?.id !== id) return; if (after.hidden) close(); else step(1); });
}

/** Goes away, without a word. */
export function leave() {
  dialog.close();
  for (const slide of slides.values()) slide.remove();
  slides.clear(); pointers.clear();
  record = null; index = -1;
}

export function close() {
  const last = [index, record];
  leave();
  closed(...last);
}

/** Acts on a key; tells whether it was one of the viewer's. */
export function key(key, isWithinPanel) {
  const slide = current(), pan = (x, y) => slide.isZoomed && (() => slide.pan(x, y)), by = (n) => () => step(n), zoom = (scale) => () => slide.zoom(scale);
  const act = {
    ArrowLeft: pan(120, 0) || by(-1), ArrowRight: pan(-120, 0) || by(1), i: toggleFacts, z: () => slide.toggle(), d: hasOriginals && (() => download.click()),
    " ": document.activeElement === stage && slide.video && (() => slide.play()),
    "+": zoom(slide.scale * 1.5), "-": zoom(slide.scale / 1.5), 0: zoom(1),
    ...(!isWithinPanel && {
      ArrowUp: pan(0, 120), ArrowDown: pan(0, -120), PageUp: by(-1), PageDown: by(1), Home: () => go(0), End: () => go(grid.count - 1),
    }),
  }[key];
  if (act) act();
  return Boolean(act);
}

// Fingers, and the mouse: where each is, and what was done since the last one came.
const pointers = new Map();
let drag;

function point({ clientX, clientY }) {
  const { left, top } = stage.getBoundingClientRect();
  return [clientX - left, clientY - top];
}

function press(event) {
  // A film has controls of its own, at its lower edge, and for a mouse everywhere.
  const { target, button, pointerId, pointerType, timeStamp } = event, film = target.closest("video");
  if (button || (film && (pointerType === "mouse" || event.clientY > film.getBoundingClientRect().bottom - 90))) return;
  if (!film) stage.setPointerCapture(pointerId);
  pointers.set(pointerId, point(event));
  // Two fingers only zoom.
  drag = { from: point(event), at: timeStamp, isPinch: pointers.size > 1 };
}

function move(event) {
  const { pointerId, pointerType } = event;
  if (!pointers.has(pointerId)) return;
  const slide = current(), [oldX, oldY] = pointers.get(pointerId), [x, y] = point(event);
  pointers.set(pointerId, [x, y]);
  if (pointers.size > 1) {
    const [, [otherX, otherY]] = [...pointers].find(([id]) => id !== pointerId);
    const ratio = Math.hypot(x - otherX, y - otherY) / (Math.hypot(oldX - otherX, oldY - otherY) || 1);
    slide.zoom(slide.scale * ratio, (x + otherX) / 2, (y + otherY) / 2);
    slide.pan((x - oldX) / 2, (y - oldY) / 2);
  } else if (slide.isZoomed) slide.pan(x - oldX, y - oldY);
  else if (!drag.isPinch && pointerType !== "mouse") {
    const dx = x - drag.from[0], dy = y - drag.from[1];
    if (Math.hypot(dx, dy) >= 8) drag.axis ??= Math.abs(dx) > Math.abs(dy) ? "x" : "y";
    drag.way = drag.axis === "x" ? dx : dy;
    if (drag.axis === "x") slideTo(slides.has(-Math.sign(dx)) ? dx : dx / 4);
    if (drag.axis === "y") slideTo(0, Math.max(0, dy));
  }
}

async function release({ pointerId, timeStamp, type }) {
  if (!pointers.delete(pointerId) || pointers.size || !drag.axis) return;
  // Far, or fast.
  const { axis, way, at } = drag, far = Math.abs(way), pace = far / Math.max(1, timeStamp - at);
  const isEnough = type === "pointerup" && (far > stage.clientWidth / 4 || (pace > 0.4 && far > 24));
  if (isEnough && axis === "y" && way > 0) return close();
  const side = isEnough && axis === "x" && -Math.sign(way);
  if (!side || !slides.has(side)) return slideTo(0, 0, true);
  slideTo(-side * (stage.clientWidth + beside), 0, true);
  if (!calm()) await new Promise((done) => setTimeout(done, 220));
  await step(side);
}
