// One room as its reader sees it: pages of its history, live messages, one's own messages, and how far it is read.
import { rests } from "./feeds.js";
import { Gaps } from "./gaps.js";
import { History, isAfter } from "./history.js";
import { Online } from "./online.js";
import { Sending } from "./sending.js";

const FIRST = 60;
const PAGE = 200;
const READ_AFTER = 400; // milliseconds
const MESSAGES = "GET /rooms/{roomId}/messages";

export class Room {
  /** GET /rooms/{roomId}; undefined before it is read, and for a room that begins with its first message. */
  info;
  /** Why the room cannot be read. */
  error;
  isLoaded = false;
  /** Where the line of unread messages is: behind this read mark; undefined without one. */
  line;
  /** How many messages were unread when the room was opened. */
  unread = 0;
  /** What the list of messages shows next: `{ row, place }`, or its end without a row. */
  target;
  /** What the reader does with a message: `{ row, what }` and more; `what` is "menu", "edit", "delete" or "versions". */
  acting;
  /** By what was tried: why it failed, and whether it is being read. */
  failure = {};
  reading = {};
  #opening = 0;
  #isOpen = false;
  #atEnd = true;
  #marked = "";
  #timer;

  constructor({ client, user, roomId, conversations, changed }) {
    Object.assign(this, { client, user, roomId, conversations, changed });
    this.history = new History(user);
    this.gaps = new Gaps({
      ask: (query) => this.#ask(MESSAGES, query, { tries: 1 }),
      followed: () => this.#feeds.position(roomId),
      found: async (items) => {
        const rest = rests();
        for (const item of items) {
          this.history.message(item);
          await rest();
        }
        this.#read();
        changed();
      },
    });
    this.online = new Online({
      ask: async () => (this.canWrite ? this.#ask("GET /rooms/{roomId}/online", {}, { tries: 1 }) : undefined),
      changed,
    });
    const catchUp = () => this.gaps.close();
    this.sending = new Sending({ client, user, roomId, history: this.history, catchUp, changed });
    this.sending.restore();
  }

  get #feeds() {
    return this.conversations.feeds;
  }

  /** The state, time and role of the user's membership; null if they were never in the room. */
  get membership() {
    return this.info?.membership ?? null;
  }

  get canWrite() {
    return this.error === undefined && (this.info?.kind !== "members" || this.membership?.state === "in");
  }

  get isOwner() {
    return this.info?.kind === "members" && this.membership?.state === "in" && this.membership.role === "owner";
  }

  /** Whether the user may edit or delete a message: their own, or any one of their members room (delete only). */
  mayChange({ key, userId, messageType, deletedAt }) {
    const isTheirs = this.isOwner || (userId === this.user && this.canWrite);
    return isTheirs && key !== undefined && messageType === "TEXT" && deletedAt === undefined;
  }

  /** Begin to do something with a message, or end it: without `what`. */
  act(row, what, more) {
    this.acting = what && { row, what, ...more };
    this.changed();
  }

  /** Edit a message, or delete it: without a text. */
  async changeText(row, text) {
    const { what } = this.acting;
    this.act(row, what, { text, isBusy: true });
    try {
      await this.sending.change(row, text);
      this.act(row);
    } catch (error) {
      this.act(row, what, { text, error });
    }
  }

  /** The texts that a message had. */
  async versions(row) {
    this.act(row, "versions");
    try {
      const { key } = row.item;
      const { items } = await this.client.request(`${MESSAGES}/{key}/versions`, { roomId: this.roomId, key });
      this.act(row, "versions", { items });
    } catch (error) {
      this.act(row, "versions", { error });
    }
  }

  /** Edit one's newest message, if it is loaded. */
  editLast() {
    const row = this.history.lastOwn;
    if (row !== undefined) {
      this.target = { row, place: 0.7 };
      this.act(row, "edit", { text: row.item.message });
    }
  }

  /** Read the newest page, and follow the room. */
  async open() {
    const mine = ++this.#opening;
    this.#isOpen = true;
    Object.assign(this, { isLoaded: false, failure: {}, reading: {} });
    this.changed();
    const wasFollowed = this.#feeds.isReady(this.roomId);
    const [info, page] = await Promise.allSettled([
      this.#ask("GET /rooms/{roomId}"),
      this.#ask(MESSAGES, { limit: FIRST }),
      this.conversations.loaded,
    ]);
    if (mine !== this.#opening) {
      return;
    }
    this.info = info.value; // an invited user sees the room, but not its messages
    this.error = info.reason ?? page.reason;
    if (this.error === undefined) {
      this.#begin(page.value, wasFollowed);
    }
    this.isLoaded = true;
    this.changed();
    this.online.begin();
  }

  /** The room is looked at no more. It stays followed if it is a conversation. */
  close() {
    this.#isOpen = false;
    this.#opening += 1;
    this.gaps.stop();
    this.online.stop();
    clearTimeout(this.#timer);
    if (this.membership?.state !== "in") {
      this.#feeds.stop(this.roomId);
    }
  }

  /** Read the membership again: it has changed, or the room can be followed no longer. */
  async refresh() {
    if (!this.#isOpen || !this.isLoaded) {
      return;
    }
    try {
      this.info = await this.#ask("GET /rooms/{roomId}");
    } catch (error) {
      this.error = error;
    }
    if (this.info !== undefined && (this.error !== undefined || (this.canWrite && !this.#feeds.has(this.roomId)))) {
      await this.open();
    }
    this.changed();
  }

  /** Change a membership of the room; returns the answer, or undefined after an error, which is `failure.change`. */
  async change(operation, parameters) {
    this.failure = { ...this.failure, change: undefined };
    try {
      const answer = await this.#ask(operation, parameters);
      this.conversations.refresh();
      await this.refresh();
      return answer;
    } catch (error) {
      this.failure = { ...this.failure, change: error };
      this.changed();
      return undefined;
    }
  }

  /** A live message of the room; returns whether its reader sees it now. */
  message(item) {
    if (!this.#isOpen || !this.isLoaded) {
      this.history.keep(item);
      return false;
    }
    const last = this.history.stored.at(-1)?.item.key ?? null;
    const isUnread = item.userId !== this.user && !this.#seesEnd;
    if (isUnread && this.line === undefined && isAfter(item.key, last)) {
      this.line = last;
    }
    this.history.message(item);
    this.online.message(item);
    this.gaps.soon();
    this.#read();
    return this.#seesEnd;
  }

  older() {
    return this.#readPage("older", async () => {
      const page = await this.#ask(MESSAGES, { before: this.history.older, limit: PAGE });
      return () => this.history.addOlder(page);
    });
  }

  newer() {
    return this.#readPage("newer", async () => {
      const page = await this.#ask(MESSAGES, { after: this.history.newer, limit: PAGE });
      return () => this.history.addNewer(page);
    });
  }

  /** Read pages again after a failure. */
  retry() {
    this.failure = {};
    this.changed();
  }

  /** Show the first message of a time or later, such as 2026-11-26T00:00:00.000Z. */
  jump(time) {
    return this.#around(`${time.replace("Z", "000Z")}#0`, () => ({ row: this.history.rowOfTime(time), place: 0.1 }));
  }

  /** Show the line of unread messages. */
  jumpToLine() {
    const mark = this.line ?? this.membership.since;
    const target = () => ({ row: this.history.firstUnread(this.line), place: 0.2 });
    return this.#around(mark.includes("#") ? mark : `${mark}#0`, target);
  }

  /** Show the newest messages. */
  async present() {
    if (!this.history.hasEnd) {
      await this.open();
    }
    this.target = {};
    this.changed();
  }

  /** The list shows its end, or no longer. */
  sees(atEnd) {
    this.#atEnd = atEnd && this.history.hasEnd;
    this.#read();
  }

  /** The page is looked at again. */
  looked() {
    this.#read();
    this.gaps.soon(0);
    this.online.begin();
  }

  send(text) {
    this.line = undefined;
    this.present();
    return this.sending.send(text);
  }

  /** Whether messages are unread that are older than the loaded ones. */
  get hasOlderUnread() {
    const first = this.history.stored[0];
    return this.line !== undefined && this.unread > 0 && first !== undefined && !this.history.hasStart
      && isAfter(first.item.key, this.line);
  }

  get #seesEnd() {
    return this.#isOpen && this.isLoaded && this.#atEnd && document.visibilityState === "visible";
  }

  #begin(page, wasFollowed) {
    this.history.begin(page, true);
    this.gaps.begin(page?.position);
    if (!wasFollowed && this.canWrite) {
      const known = page?.items.map(({ key }) => key);
      this.#feeds.follow(this.roomId, page && { since: page.position, known });
    }
    const conversation = this.conversations.of(this.roomId);
    this.unread = conversation?.unread ?? 0;
    this.line = this.unread > 0 ? conversation.readTo : undefined;
    // The line stays where it is while one reads.
    const row = this.unread > 0 && !this.hasOlderUnread ? this.history.firstUnread(this.line) : undefined;
    this.target = { row, place: 0.2 };
  }

  /** Move the read mark to the newest message, if it is on the screen. */
  #read() {
    const newest = this.history.stored.at(-1)?.item.key;
    if (!this.#seesEnd || newest === undefined || this.membership === null || newest <= this.#marked) {
      return;
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(async () => {
      try {
        this.#marked = newest;
        const { readTo } = await this.#ask("PUT /rooms/{roomId}/read", { upTo: newest });
        this.unread = 0;
        this.conversations.read(this.roomId, readTo);
      } catch {
        this.#marked = ""; // with the next message
      }
    }, READ_AFTER);
  }

  async #around(around, target) {
    const mine = ++this.#opening;
    try {
      const page = await this.#ask(MESSAGES, { around, limit: PAGE });
      if (mine === this.#opening) {
        this.history.begin(page, false);
        Object.assign(this, { failure: {}, reading: {}, target: target() });
      }
    } catch (error) {
      this.failure = { ...this.failure, jump: error };
    }
    this.changed();
  }

  async #readPage(name, read) {
    if (this.history[name] === null || this.reading[name] || this.failure[name] || !this.isLoaded) {
      return;
    }
    const mine = this.#opening;
    this.reading = { ...this.reading, [name]: true };
    const finish = (then) => {
      if (mine === this.#opening) {
        this.reading = { ...this.reading, [name]: false };
        then();
        this.changed();
      }
    };
    await read().then(finish, (error) => finish(() => { this.failure = { ...this.failure, [name]: error }; }));
  }

  /** Ask for something of this room. A room that begins with its first message answers undefined. */
  async #ask(operation, parameters, options) {
    try {
      return await this.client.request(operation, { roomId: this.roomId, ...parameters }, options);
    } catch (error) {
      if (error.code === "not_found" && operation.startsWith("GET")) {
        return undefined;
      }
      throw error;
    }
  }
}
