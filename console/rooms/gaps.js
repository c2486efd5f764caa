// What was stored in a room and not pushed: it is asked for after each pause of the room, and now and then.

const ROWS = 200;
const QUIET = 5_000; // milliseconds after a live message
const CHECKED = 30_000; // and then between two questions

/** The later one of two positions. */
const later = (one = "", other = "") => (one > other ? one : other) || undefined;

export class Gaps {
  #position;
  #timer;

  /** `ask(query)` reads a page of the room, `found(items)` takes messages, and `followed()` is the live position. */
  constructor({ ask, followed, found }) {
    Object.assign(this, { ask, followed, found });
  }

  /** Messages up to this position are there. */
  begin(position) {
    this.#position = position;
    this.soon();
  }

  /** A message came: ask when the room is quiet. */
  soon(after = QUIET) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(async () => {
      const timer = this.#timer;
      if (document.visibilityState === "visible") {
        await this.close();
      }
      if (this.#timer === timer) {
        this.soon(CHECKED);
      }
    }, after);
  }

  stop() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Ask now for what was stored since the last live message. */
  async close() {
    const since = later(this.followed(), this.#position);
    try {
      const items = [];
      let page;
      let position;
      do {
        page = await this.ask(since === undefined ? { limit: ROWS } : { since, before: page?.next, limit: ROWS });
        position ??= page?.position;
        items.push(...(page?.items ?? []));
      } while (since !== undefined && page?.hasMore && page.next);
      this.#position = later(position, this.#position);
      await this.found(items.reverse());
    } catch {
      // The view says that there is no connection; the next round asks again.
    }
  }
}
