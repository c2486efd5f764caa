// Which rooms are followed live. A room is followed once, for the list of conversations and for the open room.

const SLICE = 8; // milliseconds of work, after which the page can draw

/** A function to await between pieces of work: now and then, it waits until the page has drawn. */
export function rests() {
  let began = performance.now();
  return async () => {
    if (performance.now() - began > SLICE) {
      await new Promise((done) => setTimeout(done));
      began = performance.now();
    }
  };
}

/**
 * Calls `message(roomId, item)` for each new message, `ready(roomId)` when the messages of a room come from now on, and
 * `ended(roomId, error)` when a room can be followed no longer.
 */
export class Feeds {
  #feeds = new Map();

  constructor(client, { message, ready, ended }) {
    Object.assign(this, { client, message, ready, ended });
  }

  has(roomId) {
    return this.#feeds.has(roomId);
  }

  /** Whether all messages come that are stored from now on. */
  isReady(roomId) {
    return this.#feeds.get(roomId)?.isReady === true;
  }

  /** Up to where the messages of a room have come; undefined if it is not known. */
  position(roomId) {
    return this.#feeds.get(roomId)?.following.position;
  }

  /** Follow a room from now on, or from the position of a page; `known` has the keys that are shown already. */
  follow(roomId, options = {}) {
    this.stop(roomId);
    const following = this.client.follow(roomId, options);
    const feed = { following, isReady: options.since !== undefined };
    this.#feeds.set(roomId, feed);
    if (!feed.isReady) {
      following.ready.then(() => {
        feed.isReady = true;
        this.ready(roomId);
      }, () => {});
    }
    this.#run(roomId, feed);
  }

  stop(roomId) {
    this.#feeds.get(roomId)?.following.close();
    this.#feeds.delete(roomId);
  }

  close() {
    [...this.#feeds.keys()].forEach((roomId) => this.stop(roomId));
  }

  async #run(roomId, feed) {
    try {
      const rest = rests();
      for await (const item of feed.following) {
        this.message(roomId, item);
        await rest();
      }
    } catch (error) {
      if (this.#feeds.get(roomId) === feed) {
        this.#feeds.delete(roomId);
        this.ended(roomId, error);
      }
    }
  }
}
