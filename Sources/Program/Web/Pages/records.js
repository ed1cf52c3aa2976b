// Records of the pictures in view: chunks of 512 that are fetched when needed, and dropped when passed.
import { get, tail } from "./api.js";

export const chunkLength = 512;
const kept = 24;

export class Records {
  /** `arrived` is called when a chunk is there, `failed` when it did not come. */
  constructor(query, { keys, count }, arrived, failed) {
    Object.assign(this, { query, keys, count, arrived, failed, chunks: new Map(), running: new Map() });
  }

  at(index) { return this.chunks.get(Math.floor(index / chunkLength))?.[index % chunkLength]; }

  /** Fetches what is missing between two places; what is still under way for others is cancelled. */
  want(first, last) {
    const from = Math.floor(first / chunkLength), to = Math.floor(last / chunkLength);
    for (const [chunk, control] of this.running) if ((chunk < from || chunk > to) && !control.kept) { control.abort(); this.running.delete(chunk); }
    for (let chunk = from; chunk <= to; chunk += 1) this.fetch(chunk).catch((error) => { if (error.name !== "AbortError") this.failed(); });
  }

  /** The record of one place, fetched if need be. */
  async one(index) {
    if (index < 0 || index >= this.count) return undefined;
    await this.fetch(Math.floor(index / chunkLength), true);
    return this.at(index);
  }

  async fetch(chunk, keep) {
    const known = this.chunks.get(chunk);
    if (known) { this.chunks.delete(chunk); this.chunks.set(chunk, known); return; } // the last used is the last
    let control = this.running.get(chunk);
    if (!control) {
      control = new AbortController();
      this.running.set(chunk, control);
      control.done = get("api/v1/assets" + tail({ ...this.query, from: this.keys[chunk], limit: chunkLength }), control)
        .then(({ assets }) => this.put(chunk, assets))
        .finally(() => { if (this.running.get(chunk) === control) this.running.delete(chunk); });
    }
    control.kept ||= keep;
    await control.done;
  }

  put(chunk, assets) {
    this.chunks.set(chunk, assets);
    if (this.chunks.size > kept) this.chunks.delete(this.chunks.keys().next().value);
    this.arrived();
  }

  stop() {
    this.arrived = this.failed = () => {};
    for (const control of this.running.values()) control.abort();
  }
}
