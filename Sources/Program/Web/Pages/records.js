// Records of the pictures in view: chunks of 512 that are fetched when needed, and dropped when
// passed.
import { get, tail } from "./api.js";

export const chunkLength = 512;
export const chunkOf = (index) => Math.floor(index / chunkLength);
const kept = 24;

/** A picture of a query, and those behind it; the first ones without `from`. */
export const assets = async (query, from, options) => (await get("api/v1/assets" + tail({ ...query, from, limit: chunkLength }), options)).assets;

/** `arrived` is called when a chunk is there, `failed` when it did not come. */
export function makeRecords(query, { keys, count }, arrived, failed) {
  const chunks = new Map(), running = new Map();
  return { keys, count, at, want, one, put, stop };

  function at(index) { return chunks.get(chunkOf(index))?.[index % chunkLength]; }

  /**
   * Fetches what is missing between two places; what is still under way for others is cancelled.
   */
  function want(first, last) {
    const from = chunkOf(first), to = chunkOf(last);
    for (const [chunk, control] of running) if ((chunk < from || chunk > to) && !control.isKept) { control.abort(); running.delete(chunk); }
    for (let chunk = from; chunk <= to; chunk += 1) fetch(chunk).catch((error) => { if (error.name !== "AbortError") failed(); });
  }

  /** The record of one place, fetched if need be. */
  async function one(index) {
    if (index < 0 || index >= count) return undefined;
    await fetch(chunkOf(index), true);
    return at(index);
  }

  async function fetch(chunk, isKept) {
    const known = chunks.get(chunk);
    if (known) { chunks.delete(chunk); chunks.set(chunk, known); return; } // the last used is the last
    let control = running.get(chunk);
    if (!control) {
      control = new AbortController();
      running.set(chunk, control);
      control.done = assets(query, keys[chunk], control)
        .then((records) => put(chunk, records))
        .finally(() => { if (running.get(chunk) === control) running.delete(chunk); });
    }
    control.isKept ||= isKept;
    await control.done;
  }

  function put(chunk, records) {
    chunks.set(chunk, records);
    if (chunks.size > kept) chunks.delete(chunks.keys().next().value);
    arrived();
  }

  function stop() {
    arrived = failed = () => {};
    for (const control of running.values()) control.abort();
  }
}
