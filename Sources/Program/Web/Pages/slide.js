// One picture of the viewer: fits, zooms, and fetches tiles where the preview is too small; or a
// film.
import { get, hasOriginals } from "./api.js";
import { bound, clock, h, put, toast } from "./dom.js";

const atOnce = 4, tries = 4;
// Those that the server tells browsers the type of.
const filmTypes = /^video\/(mp4|quicktime|webm)$/;

/**
 * Whether the browser may be able to play it. Most play QuickTime's films, which are much like MP4,
 * but don't say so.
 */
const mayPlay = (type) => hasOriginals && filmTypes.test(type) && h("video").canPlayType(type.replace("quicktime", "mp4"));

export function makeSlide(record) {
  const { id, name, type, kind, state, reason, duration, colour, thumbnail, preview } = record;
  const frame = h("div.frame"), element = h("div.slide", frame);
  let isFilm = mayPlay(type), video, image;
  const zoomable = (preview ?? thumbnail) && record.width && record.height && duration == null && !isFilm;

  if (!thumbnail && !preview && !isFilm) {
    element.append(h("div.nothing", h("span.kind", kind), h("bdi.name", name),
      h("p", state === "waiting" ? "The preview of this file is not made yet." : "There is no preview of this file."), reason && h("p.reason", reason)));
  } else {
    if (colour) frame.style.backgroundColor = colour;
    if (thumbnail) addImage(thumbnail);
    if (preview) addImage(preview);
    if (kind === "video" && !isFilm) cannotPlay();
  }

  /** The preview covers the thumbnail, as soon as it is there. */
  function addImage(src) {
    const under = image, over = image = h("img", { alt: name, draggable: false, decoding: under ? "async" : "auto", src });
    frame.append(over);
    if (!under) return;
    under.alt = "";
    over.onerror = () => { over.remove(); image = under; under.alt = name; };
  }

  function cannotPlay() {
    isFilm = false;
    video?.remove();
    video = null;
    element.append(h("p.film", duration != null && h("span.badge", clock(duration)), hasOriginals ? "This browser can’t play it: download the original." : "Films are not handed out here."));
  }

  /** Becomes the picture that is looked at, or one beside it. */
  function attend(isShown) {
    if (!isShown) {
      zoom(1);
      video?.pause();
    } else if (isFilm && !video) {
      video = h("video", {
        controls: true, playsInline: true, preload: "metadata", poster: preview ?? thumbnail ?? "", "aria-label": name,
        onerror: cannotPlay, onloadedmetadata: () => fit(roomX, roomY), src: `o/${id}`,
      });
      frame.append(video);
    }
  }

  /** Plays a film, or pauses it. */
  function play() { if (video.paused) video.play(); else video.pause(); }

  // The room that there is, the picture's own width, and its size where it fits; its place, and how
  // many times larger it is.
  let roomX, roomY, pixels, fitX, fitY, x = 0, y = 0, scale = 1, soon;
  const isZoomed = () => scale > 1.001;
  /** The scale at which a pixel of the picture is a pixel of the screen. */
  const whole = () => pixels / (fitX * devicePixelRatio);

  /** Fits the picture into the room there is. */
  function fit(width, height) {
    const first = frame.firstChild, high = record.height || video?.videoHeight || first?.naturalHeight || 1;
    pixels = record.width || video?.videoWidth || first?.naturalWidth || 1;
    roomX = width; roomY = height;
    const ratio = Math.min(width / pixels, height / high, isFilm ? Infinity : 1);
    fitX = Math.max(1, Math.round(pixels * ratio));
    fitY = Math.max(1, Math.round(high * ratio));
    place();
  }

  function place() {
    const within = (at, size, room) => (size <= room ? (room - size) / 2 : bound(at, room - size, 0));
    x = within(x, fitX * scale, roomX);
    y = within(y, fitY * scale, roomY);
    put(frame, x, y, fitX * scale, fitY * scale);
    element.classList.toggle("zoomed", isZoomed());
    clearTimeout(soon);
    if (isZoomed()) soon = setTimeout(sharpen, 120); else drop();
  }

  /** Zooms, keeping what is under a point where it is. */
  function zoom(to, px = roomX / 2, py = roomY / 2) {
    if (!zoomable || to === scale) return;
    const before = scale;
    scale = bound(to, 1, Math.max(4, 4 * whole()));
    const ratio = scale / before;
    pan((px - x) * (1 - ratio), (py - y) * (1 - ratio));
  }

  function pan(dx, dy) { x += dx; y += dy; place(); }

  function toggle(px, py) { zoom(isZoomed() ? 1 : Math.max(whole(), 1.5), px, py); }

  // Tiles by their size and place, and the keys of those that are needed.
  const tiles = new Map(), needed = new Set();
  let info, told;

  /** Fetches tiles, if the preview has fewer pixels than the screen shows. */
  async function sharpen() {
    const wanted = fitX * scale * devicePixelRatio;
    if (wanted <= 1.1 * image.naturalWidth) return;
    info ??= get(`iiif/3/${id}/info.json`).catch(() => null);
    const { width, height, tiles: sizes } = (await info) ?? {};
    if (!sizes?.length || !width) {
      if (!told) toast("This is the preview, enlarged: the picture itself is not served in full size.");
      told = true;
      return;
    }
    if (!isZoomed()) return;
    const factor = Math.max(1, ...sizes[0].scaleFactors.filter((f) => f <= width / wanted)), ratio = width / (fitX * scale);
    const stepX = sizes[0].width * factor, stepY = (sizes[0].height ?? sizes[0].width) * factor;
    const first = (at, step) => Math.floor(Math.max(0, -at * ratio) / step) * step, end = (at, room, most) => Math.min(most, (room - at) * ratio);
    needed.clear();
    for (let top = first(y, stepY); top < end(y, roomY, height); top += stepY) {
      for (let left = first(x, stepX); left < end(x, roomX, width); left += stepX) {
        const key = `${factor}/${left},${top}`, wide = Math.min(stepX, width - left), high = Math.min(stepY, height - top);
        needed.add(key);
        if (tiles.has(key)) continue;
        const tile = h("img.piece", { alt: "", draggable: false });
        const region = wide === width && high === height ? "full" : `${left},${top},${wide},${high}`;
        tile.address = `iiif/3/${id}/${region}/${Math.ceil(wide / factor)},${Math.ceil(high / factor)}/0/default.jpg`;
        const percent = (part, all) => `${(100 * part) / all}%`;
        Object.assign(tile.style, { left: percent(left, width), top: percent(top, height), width: percent(wide, width), height: percent(high, height) });
        tiles.set(key, tile);
      }
    }
    drop((key, tile) => !tile.ready && !needed.has(key));
    load();
  }

  /**
   * Fetches tiles, a few at once. Those of another size go when those that are needed are there.
   */
  function load() {
    for (const [key, tile] of [...tiles].filter(([, { ready }]) => !ready).slice(0, atOnce)) {
      if (tile.src) continue;
      let left = tries;
      tile.onload = () => { tile.ready = true; tile.classList.add("ready"); load(); };
      tile.onerror = () => {
        // The server may be busy with others' pictures: again, a little later.
        left -= 1;
        if (left) setTimeout(() => { if (tiles.get(key) === tile) tile.src = tile.address; }, 700 * (tries - left));
        else { drop((other) => other === key); load(); }
      };
      tile.src = tile.address;
      frame.append(tile);
    }
    if ([...needed].every((key) => tiles.get(key)?.ready)) drop((key) => !needed.has(key));
  }

  /** Gives up some tiles, or all. */
  function drop(which = () => true) {
    for (const [key, tile] of tiles) if (which(key, tile)) {
      tile.onload = tile.onerror = null;
      tile.removeAttribute("src"); // ends its transfer
      tile.remove();
      tiles.delete(key);
    }
  }

  function remove() {
    clearTimeout(soon);
    drop();
    video?.removeAttribute("src");
    video?.load();
    element.remove();
  }

  return {
    record, element, frame, zoomable, attend, play, fit, zoom, pan, toggle, remove,
    get video() { return video; }, get scale() { return scale; }, get isZoomed() { return isZoomed(); },
  };
}
