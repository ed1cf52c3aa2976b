// One picture of the viewer: fits, zooms, and fetches tiles where the preview is too small; or a film.
import { get, hasOriginals } from "./api.js";
import { bdi, clock, h, toast } from "./dom.js";

const atOnce = 4, tries = 4;
// Those that the server tells browsers the type of.
const filmTypes = /^video\/(mp4|quicktime|webm)$/;

/** Whether the browser may be able to play it. Most play QuickTime's films, which are much like MP4, but don't say so. */
const mayPlay = (type) => hasOriginals && filmTypes.test(type) && Boolean(document.createElement("video").canPlayType(type.replace("quicktime", "mp4")));

export class Slide {
  constructor(record) {
    Object.assign(this, { record, scale: 1, x: 0, y: 0, tiles: new Map(), queue: [], running: 0 });
    this.frame = h("div.frame");
    this.element = h("div.slide", {}, this.frame);
    const { width, height, thumbnail, preview, name, colour } = record;
    this.film = mayPlay(record.type);
    this.zoomable = Boolean((preview ?? thumbnail) && width && height && record.duration == null && !this.film);
    if (!thumbnail && !preview && !this.film) {
      this.element.append(h("div.nothing", {}, h("span.kind", {}, record.kind), bdi(name),
        h("p", {}, record.state === "waiting" ? "The preview of this file is not made yet." : "There is no preview of this file."), record.reason && h("p.reason", {}, record.reason)));
      return;
    }
    if (colour) this.frame.style.backgroundColor = colour;
    if (thumbnail) { this.low = h("img", { alt: preview ? "" : name, draggable: false, src: thumbnail }); this.frame.append(this.low); }
    if (preview) {
      this.high = h("img", { alt: name, draggable: false, decoding: "async", src: preview });
      this.high.addEventListener("error", () => { this.high.remove(); this.high = null; if (this.low) this.low.alt = name; });
      this.frame.append(this.high);
    }
    if (record.kind === "video" && !this.film) this.cannotPlay();
  }

  cannotPlay() {
    const { duration } = this.record;
    this.film = false;
    this.video?.remove();
    this.video = null;
    this.element.append(h("p.film", {}, duration != null && h("span.badge", {}, clock(duration)), hasOriginals ? "This browser can’t play it: download the original." : "Films are not handed out here."));
  }

  /** Becomes the picture that is looked at, or one beside it. */
  attend(isShown) {
    if (!isShown) {
      this.zoom(1);
      return this.video?.pause();
    }
    if (!this.film || this.video) return;
    const { id, name, preview, thumbnail } = this.record;
    this.video = h("video", {
      controls: true, playsInline: true, preload: "metadata", poster: preview ?? thumbnail ?? "", src: `o/${id}`, "aria-label": name,
      on: { error: () => this.cannotPlay(), loadedmetadata: () => this.fit(this.width, this.height) },
    });
    this.frame.append(this.video);
  }

  /** Plays a film, or pauses it. */
  play() { if (this.video.paused) this.video.play(); else this.video.pause(); }

  get pixelsWide() { return this.record.width || this.video?.videoWidth || this.low?.naturalWidth || 1; }
  get pixelsHigh() { return this.record.height || this.video?.videoHeight || this.low?.naturalHeight || 1; }
  /** The scale at which a pixel of the picture is a pixel of the screen. */
  get whole() { return this.pixelsWide / (this.fitWidth * devicePixelRatio); }
  get most() { return Math.max(4, 4 * this.whole); }
  get zoomed() { return this.scale > 1.001; }

  /** Fits the picture into the room there is. */
  fit(width, height) {
    Object.assign(this, { width, height });
    const ratio = Math.min(width / this.pixelsWide, height / this.pixelsHigh, this.film ? Infinity : 1);
    this.fitWidth = Math.max(1, Math.round(this.pixelsWide * ratio));
    this.fitHeight = Math.max(1, Math.round(this.pixelsHigh * ratio));
    this.place();
  }

  /** Where the fitted picture is, within the slide. */
  get area() { return { x: (this.width - this.fitWidth) / 2, y: (this.height - this.fitHeight) / 2, width: this.fitWidth, height: this.fitHeight }; }

  place() {
    const wide = this.fitWidth * this.scale, high = this.fitHeight * this.scale;
    const bound = (at, size, room) => (size <= room ? (room - size) / 2 : Math.min(0, Math.max(room - size, at)));
    this.x = bound(this.x, wide, this.width);
    this.y = bound(this.y, high, this.height);
    const { style } = this.frame;
    style.width = `${wide}px`; style.height = `${high}px`;
    style.transform = `translate(${this.x}px, ${this.y}px)`;
    this.element.classList.toggle("zoomed", this.zoomed);
    clearTimeout(this.soon);
    if (this.zoomed) this.soon = setTimeout(() => this.sharpen(), 120); else this.dropTiles();
  }

  /** Zooms, keeping what is under a point where it is. */
  zoom(scale, px = this.width / 2, py = this.height / 2) {
    if (!this.zoomable || scale === this.scale) return;
    scale = Math.min(this.most, Math.max(1, scale));
    const ratio = scale / this.scale;
    this.x = px - (px - this.x) * ratio;
    this.y = py - (py - this.y) * ratio;
    this.scale = scale;
    this.place();
  }

  pan(dx, dy) { this.x += dx; this.y += dy; this.place(); }

  toggle(px, py) { this.zoom(this.zoomed ? 1 : Math.max(this.whole, 1.5), px, py); }

  /** Fetches tiles, if the preview has fewer pixels than the screen shows. */
  async sharpen() {
    const wanted = this.fitWidth * this.scale * devicePixelRatio;
    if (!this.zoomable || wanted <= 1.1 * ((this.high ?? this.low)?.naturalWidth || 0)) return;
    this.info ??= get(`iiif/3/${this.record.id}/info.json`).catch(() => null);
    const info = await this.info;
    if (!info?.tiles?.length || !info.width) {
      if (!this.told) toast("This is the preview, enlarged: the picture itself is not served in full size.");
      this.told = true;
      return;
    }
    if (!this.zoomed) return;
    const { width: side, height: sideHigh = side, scaleFactors } = info.tiles[0];
    const factor = Math.max(1, ...scaleFactors.filter((f) => f <= info.width / wanted));
    const ratio = info.width / (this.fitWidth * this.scale);
    const step = side * factor, stepHigh = sideHigh * factor;
    const left = Math.max(0, -this.x * ratio), top = Math.max(0, -this.y * ratio);
    const right = Math.min(info.width, (this.width - this.x) * ratio), bottom = Math.min(info.height, (this.height - this.y) * ratio);
    const needed = new Set();
    for (let y = Math.floor(top / stepHigh) * stepHigh; y < bottom; y += stepHigh) {
      for (let x = Math.floor(left / step) * step; x < right; x += step) {
        const w = Math.min(step, info.width - x), high = Math.min(stepHigh, info.height - y), key = `${factor}/${x},${y}`;
        needed.add(key);
        if (!this.tiles.has(key)) this.tile(key, info, { x, y, w, high, factor });
      }
    }
    this.needed = needed;
    this.queue = this.queue.filter((key) => needed.has(key) || (this.tiles.delete(key), false));
    this.work();
    this.tidy();
  }

  tile(key, info, { x, y, w, high, factor }) {
    const image = h("img.piece", { alt: "", draggable: false });
    const region = w === info.width && high === info.height ? "full" : `${x},${y},${w},${high}`;
    image.address = `iiif/3/${this.record.id}/${region}/${Math.ceil(w / factor)},${Math.ceil(high / factor)}/0/default.jpg`;
    Object.assign(image.style, {
      left: `${(100 * x) / info.width}%`, top: `${(100 * y) / info.height}%`, width: `${(100 * w) / info.width}%`, height: `${(100 * high) / info.height}%`,
    });
    this.tiles.set(key, image);
    this.queue.push(key);
  }

  work() {
    while (this.running < atOnce && this.queue.length) {
      const key = this.queue.shift(), image = this.tiles.get(key);
      if (!image) continue;
      this.running += 1;
      let left = tries;
      const end = () => { this.running -= 1; this.tidy(); this.work(); };
      image.onload = () => { image.ready = true; image.classList.add("ready"); end(); };
      image.onerror = () => {
        // The server may be busy with others' pictures: again, a little later.
        left -= 1;
        if (left > 0 && this.tiles.get(key) === image) setTimeout(() => { image.src = image.address; }, 700 * (tries - left));
        else { this.tiles.delete(key); image.remove(); end(); }
      };
      image.src = image.address;
      this.frame.append(image);
    }
  }

  /** Tiles of another size go when those that are needed are there. */
  tidy() {
    if (!this.needed || ![...this.needed].every((key) => this.tiles.get(key)?.ready)) return;
    for (const [key, image] of this.tiles) if (!this.needed.has(key)) { image.remove(); this.tiles.delete(key); }
  }

  dropTiles() {
    for (const image of this.tiles.values()) { image.onload = image.onerror = null; image.removeAttribute("src"); image.remove(); }
    this.tiles.clear(); this.queue = []; this.running = 0; this.needed = null;
  }

  remove() {
    clearTimeout(this.soon);
    this.dropTiles();
    this.video?.removeAttribute("src"); // ends its transfer
    this.video?.load();
    this.element.remove();
  }
}
