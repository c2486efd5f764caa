// The loaded part of a room's history, in order, and one's own messages that are not stored yet. It asks for nothing.

const RECENT = 2_000;

const byKey = (a, b) => (a.item.key < b.item.key ? -1 : a.item.key > b.item.key ? 1 : 0);

/** Whether a message is behind a read mark: a message key, a time, or null where nothing was read. */
export const isAfter = (key, readTo) => readTo === null || `${key}$` > `${readTo}$`;

/** Orders what a message shows: its first text, its edits, its deletion; and each with the reactions to it. */
const textOf = ({ deletedAt, editedAt }) => (deletedAt ? `2${deletedAt}` : editedAt ? `1${editedAt}` : "0");
const versionOf = (item) => `${textOf(item)}${item.reactionsAt ?? ""}`;
const isNewer = (item, former) => former === undefined || versionOf(item) > versionOf(former);

/**
 * Whether a message counts an accepted reaction. One of the retry lane can come later than those that were counted
 * meanwhile: who reacted tells then.
 */
export const counts = ({ reactionsAt }, { lane, timestamp }) => lane === "main" && reactionsAt >= timestamp;

/**
 * Rows are `{ id, item, tick, change, reaction, height, isNew }`. `tick` is there for one's own messages of this page:
 * `{ state, lane, error }`, with the state "sending", "accepted", "stored" or "failed". `change` is an accepted edit or
 * deletion that is not seen yet, and `reaction` one's accepted reaction: without a value, it was taken back. `reactors` is
 * who reacted, as far as it was asked for.
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
  /** The rows of `stored` by the keys of their messages. */
  #rows = new Map();
  /** The keys of messages that loaded ones answer. */
  #answered = new Set();
  /** The newest live messages: a page that was asked for before they were stored does not have them. */
  #recent = new Map();

  constructor(user) {
    this.user = user;
  }

  /** All rows, oldest first. Messages that are not stored are shown at the end of the room only. */
  rows() {
    return this.hasEnd && this.pending.length > 0 ? [...this.stored, ...this.pending] : this.stored;
  }

  /** Forget what is loaded, and begin with this page; without `page`, the room has no message yet. */
  begin(page, isNewest) {
    this.stored = [];
    this.#rows.clear();
    this.unseen = 0;
    this.older = page?.next ?? null;
    this.newer = isNewest ? null : (page?.previous ?? null);
    this.#take(page?.items ?? []);
  }

  /** A page behind `older`. */
  addOlder(page) {
    this.older = page.hasMore ? page.next : null;
    this.#take(page.items);
  }

  /** A page behind `newer`. */
  addNewer(page) {
    this.newer = page.hasMore ? page.previous : null;
    this.#take(page.items);
  }

  /** A message that came live, also one that was edited or deleted. */
  message(item) {
    const isKnown = this.#recent.has(item.key);
    if (this.keep(item) && !this.#place(item) && !isKnown) {
      this.unseen += item.key > (this.stored.at(-1)?.item.key ?? "") ? 1 : 0;
    }
  }

  /** Keep a live message until the first page is there. Returns whether it is new, or has changed. */
  keep(item) {
    const former = this.#recent.get(item.key) ?? this.rowOf(item.key)?.item;
    if (!isNewer(item, former)) {
      return false;
    }
    this.#recent.set(item.key, item);
    if (this.#recent.size > RECENT) {
      this.#recent.delete(this.#recent.keys().next().value);
    }
    return true;
  }

  /** Show one's own message that is being sent. */
  send({ id, text: message, replyTo, attachments }, username) {
    const item = { messageId: id, userId: this.user, username, message, messageType: "TEXT", replyTo, attachments };
    item.timestamp = new Date().toISOString();
    const row = { id, item, tick: { state: "sending" } };
    this.pending.push(row);
    return row;
  }

  /** Take a message back that was not accepted. */
  discard(row) {
    this.pending = this.pending.filter((each) => each !== row);
  }

  /** Whether an accepted message or change is not seen in the history yet. */
  get waits() {
    return this.pending.some(({ tick }) => tick.state === "accepted") || this.stored.some(({ change, reaction }) => change ?? reaction);
  }

  /** The row of a loaded message. */
  rowOf(key) {
    return this.#rows.get(key);
  }

  /** Whether a loaded message is a reply to the message with this key. */
  isAnswered(key) {
    return this.#answered.has(key);
  }

  /** What a user is called in the newest loaded message; else the id. */
  nameOf(userId) {
    return this.stored.findLast(({ item }) => item.userId === userId)?.item.username ?? userId;
  }

  /** The newest of one's own messages that can be edited. */
  get lastOwn() {
    return this.stored.findLast(
      ({ item }) => item.userId === this.user && item.messageType === "TEXT" && item.deletedAt === undefined,
    );
  }

  /** The first row that is behind a read mark and not one's own. */
  firstUnread(readTo) {
    return this.stored.find(
      ({ item }) => item.userId !== this.user && item.messageType === "TEXT" && !item.deletedAt && isAfter(item.key, readTo),
    );
  }

  /** The first row of a time or later; else the last one. */
  rowOfTime(timestamp) {
    return this.stored.find(({ item }) => item.timestamp >= timestamp) ?? this.stored.at(-1);
  }

  #take(items) {
    this.hasStart = this.older === null;
    this.hasEnd = this.newer === null;
    this.#add(items);
    this.#recent.forEach((item) => this.#place(item));
    this.unseen = this.hasEnd ? 0 : this.unseen;
  }

  /** Show a message if it belongs to the loaded part; else it is in a page that is not loaded. */
  #place(item) {
    const isBehind = !this.hasEnd && item.key > (this.stored.at(-1)?.item.key ?? "");
    const isBefore = !this.hasStart && item.key < (this.stored[0]?.item.key ?? "");
    if (isBehind || isBefore) {
      return false;
    }
    this.#add([item]);
    return true;
  }

  #add(items) {
    items.filter((item) => this.#rows.has(item.key)).forEach((item) => this.#renew(item));
    const fresh = items.filter(({ key }) => !this.#rows.has(key)).map((item) => this.#rowOf(item)).sort(byKey);
    if (fresh.length === 0) {
      return;
    }
    fresh.forEach((row) => {
      this.#rows.set(row.item.key, row);
      if (row.item.replyTo) {
        this.#answered.add(row.item.replyTo);
      }
    });
    const [first, last] = [this.stored[0], this.stored.at(-1)];
    if (first === undefined || byKey(fresh[0], last) > 0) {
      this.stored.push(...fresh); // in place: a busy room has thousands of rows, and each second hundreds more
    } else if (byKey(fresh.at(-1), first) < 0) {
      this.stored = fresh.concat(this.stored);
    } else {
      this.stored = this.stored.concat(fresh).sort(byKey);
    }
  }

  /** A loaded message came again: it may be edited or deleted, or have other reactions, or new addresses of its files. */
  #renew(item) {
    const row = this.rowOf(item.key);
    const { attachments } = item.attachments?.[0]?.url ? item : row.item;
    if (isNewer(item, row.item)) {
      row.item = item;
      const { change, reaction } = row;
      row.change = change !== undefined && (item.deletedAt ?? item.editedAt ?? "") < change.timestamp ? change : undefined;
      row.reaction = reaction !== undefined && !item.deletedAt && !counts(item, reaction) ? reaction : undefined;
    }
    if (row.item.attachments) {
      row.item = { ...row.item, attachments };
    }
  }

  /** One's own message keeps its row, and so its place on the screen and its tick. */
  #rowOf(item) {
    const own = item.userId === this.user && this.pending.find(({ id }) => id === item.messageId);
    if (!own) {
      // Reactions that come later are known, if they are one's own.
      return { id: item.key, item, reactors: item.reactions === undefined ? [] : undefined };
    }
    this.discard(own);
    return Object.assign(own, { item, tick: { ...own.tick, state: "stored", error: undefined } });
  }
}
