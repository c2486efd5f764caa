// The loaded part of a room's history, in order, and one's own messages that are not stored yet. It asks for nothing.

const byKey = (a, b) => (a.item.key < b.item.key ? -1 : a.item.key > b.item.key ? 1 : 0);

/** Whether a message is behind a read mark: a message key, a time, or null where nothing was read. */
export const isAfter = (key, readTo) => readTo === null || `${key}$` > `${readTo}$`;

/**
 * Rows are `{ id, item, tick, height }`. `tick` is there for one's own messages of this page: `{ state, lane, error }`,
 * with the state "sending", "accepted", "stored" or "failed".
 */
export class History {
  /** Stored messages, oldest first. */
  stored = [];
  /** One's own messages that are not stored yet, in the order in which they were sent. */
  pending = [];
  /** Whether the first message of the room is loaded, and whether the newest one is. */
  hasStart = false;
  hasEnd = true;
  /** Cursors to what is not loaded. */
  older = null;
  newer = null;
  /** How many messages came behind the loaded part while the newest ones are not loaded. */
  unseen = 0;
  #keys = new Set();
  #aside = new Map();

  constructor(user) {
    this.user = user;
  }

  /** All rows, oldest first. Messages that are not stored are shown at the end of the room only. */
  rows() {
    return this.hasEnd ? [...this.stored, ...this.pending] : this.stored;
  }

  /** Forget what is loaded, and begin with this page; without `page`, the room has no message yet. */
  begin(page, isNewest) {
    const live = [...this.#aside.values()];
    this.stored = [];
    this.#keys.clear();
    this.#aside.clear();
    this.unseen = 0;
    this.older = page?.next ?? null;
    this.newer = isNewest ? null : (page?.previous ?? null);
    this.hasStart = this.older === null;
    this.hasEnd = this.newer === null;
    this.#add(page?.items ?? []);
    live.forEach((item) => this.message(item));
  }

  /** A page behind `older`. */
  addOlder(page) {
    this.older = page.hasMore ? page.next : null;
    this.hasStart = this.older === null;
    this.#add(page.items);
  }

  /** A page behind `newer`. What came live while it was read is not in it. */
  addNewer(page) {
    this.newer = page.hasMore ? page.previous : null;
    this.#add(page.items);
    if (this.newer === null) {
      this.hasEnd = true;
      this.unseen = 0;
      this.#add([...this.#aside.values()]);
      this.#aside.clear();
    }
  }

  /** The next page of newer messages has all that came until now. */
  readsNewer() {
    this.#aside.clear();
  }

  /** A message that came live. Returns whether it is shown now. */
  message(item) {
    const { key } = item;
    if (this.#keys.has(key) || this.#aside.has(key)) {
      return false;
    }
    const last = this.stored.at(-1)?.item.key ?? "";
    if (!this.hasEnd && key > last) {
      this.#aside.set(key, item);
      this.unseen += 1;
      return false;
    }
    if (!this.hasStart && key < (this.stored[0]?.item.key ?? "")) {
      return false; // it is in an older page
    }
    this.#add([item]);
    return true;
  }

  /** Keep a live message until the first page is there. */
  keep(item) {
    this.#aside.set(item.key, item);
  }

  /** Show one's own message that is being sent. */
  send(id, message, username) {
    const item = { messageId: id, userId: this.user, username, message, messageType: "TEXT" };
    item.timestamp = new Date().toISOString();
    const row = { id, item, tick: { state: "sending" } };
    this.pending.push(row);
    return row;
  }

  /** Take a message back that was not accepted. */
  discard(row) {
    this.pending = this.pending.filter((each) => each !== row);
  }

  /** Whether an accepted message is not seen in the history yet. */
  get waits() {
    return this.pending.some(({ tick }) => tick.state === "accepted");
  }

  /** The first row that is behind a read mark and not one's own. */
  firstUnread(readTo) {
    return this.stored.find(
      ({ item }) => item.userId !== this.user && item.messageType === "TEXT" && isAfter(item.key, readTo),
    );
  }

  /** The first row of a time or later; else the last one. */
  rowOfTime(timestamp) {
    return this.stored.find(({ item }) => item.timestamp >= timestamp) ?? this.stored.at(-1);
  }

  #add(items) {
    const fresh = items.filter(({ key }) => !this.#keys.has(key)).map((item) => this.#rowOf(item)).sort(byKey);
    if (fresh.length === 0) {
      return;
    }
    fresh.forEach(({ item }) => this.#keys.add(item.key));
    const [first, last] = [this.stored[0], this.stored.at(-1)];
    if (first === undefined || byKey(fresh[0], last) > 0) {
      this.stored = this.stored.concat(fresh);
    } else if (byKey(fresh.at(-1), first) < 0) {
      this.stored = fresh.concat(this.stored);
    } else {
      this.stored = this.stored.concat(fresh).sort(byKey);
    }
  }

  /** One's own message keeps its row, and so its place on the screen and its tick. */
  #rowOf(item) {
    const own = item.userId === this.user && this.pending.find(({ id }) => id === item.messageId);
    if (!own) {
      return { id: item.key, item };
    }
    this.discard(own);
    return Object.assign(own, { item, tick: { ...own.tick, state: "stored", error: undefined } });
  }
}
