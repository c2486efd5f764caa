// One room as its reader sees it: pages of its history, live messages, one's own messages, and how far it is read.
import { Acts } from "./acts.js";
import { rests } from "./feeds.js";
import { Gaps } from "./gaps.js";
import { History, isAfter } from "./history.js";
import { Online } from "./online.js";
import { Pages } from "./pages.js";
import { ReadMark } from "./read-mark.js";
import { Sending } from "./sending.js";
import { Thread } from "./thread.js";

const FIRST = 60;
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
  /** What the list of messages shows next: `{ row, place, isMarked }`, or its end without a row. */
  target;
  /** The thread that is open. */
  thread;
  /** Why a membership or the room was not changed. */
  refusal;
  #isOpen = false;
  #atEnd = true;

  constructor({ client, user, roomId, conversations, changed }) {
    Object.assign(this, { client, user, roomId, conversations, changed });
    this.history = new History(user);
    this.gaps = new Gaps({
      ask: (query) => this.#ask(MESSAGES, query, { retryTimeout: 0 }),
      followed: () => this.#feeds.position(roomId),
      found: async (items) => {
        const rest = rests();
        for (const item of items) {
          this.#take(item);
          await rest();
        }
        this.#read();
        changed();
      },
    });
    this.online = new Online({
      ask: async () => (this.canWrite ? this.#ask("GET /rooms/{roomId}/online", {}, { retryTimeout: 0 }) : undefined),
      changed,
    });
    this.pages = new Pages({ ask: (query) => this.#ask(MESSAGES, query), history: this.history, changed });
    this.readMark = new ReadMark({
      ask: (upTo) => this.#ask("PUT /rooms/{roomId}/read", { upTo }),
      moved: (readTo) => {
        this.unread = 0;
        conversations.read(roomId, readTo);
      },
    });
    const catchUp = () => this.gaps.close().then(() => this.acts.settle());
    const shared = { client, user, roomId, history: this.history, changed };
    this.sending = new Sending({ ...shared, catchUp });
    this.acts = new Acts({ ...shared, sending: this.sending, go: (row) => { this.target = { row, place: 0.7 }; } });
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

  /** Read the newest page, and follow the room. */
  async open() {
    const isMine = this.pages.begin();
    this.#isOpen = true;
    this.isLoaded = false;
    this.changed();
    const wasFollowed = this.#feeds.isReady(this.roomId);
    const [info, page] = await Promise.allSettled([
      this.#ask("GET /rooms/{roomId}"),
      this.#ask(MESSAGES, { limit: FIRST }),
      this.conversations.loaded,
    ]);
    if (!isMine()) {
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
    this.pages.begin();
    this.gaps.stop();
    this.online.stop();
    this.readMark.stop();
    this.thread = undefined;
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

  /** Change a membership or the room; returns the answer, or undefined after an error, which is `refusal`. */
  async change(operation, parameters) {
    this.refusal = undefined;
    try {
      const answer = await this.#ask(operation, parameters);
      this.conversations.refresh();
      await this.refresh();
      return answer;
    } catch (error) {
      this.refusal = error;
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
    this.#take(item);
    this.online.message(item);
    this.gaps.soon();
    this.#read();
    this.changed();
    return this.#seesEnd;
  }

  #take(item) {
    this.history.message(item);
    this.thread?.message(this.history.rowOf(item.key)?.item ?? item);
  }

  /** Open the thread of the message with this key, or none. */
  openThread(key) {
    const { client, user, roomId, history, changed } = this;
    this.thread = key && new Thread({ client, user, roomId, key, history, changed });
    this.acts.open();
  }

  /** Show the message with this key, and mark it. */
  show(key) {
    const target = () => ({ row: this.history.rowOf(key), place: 0.3, isMarked: true });
    if (this.history.rowOf(key) === undefined) {
      return this.#around(key, target);
    }
    this.target = target();
    return this.changed();
  }

  /** Read the next page: "older" or "newer". */
  read(name) {
    return this.isLoaded ? this.pages.read(name) : undefined;
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

  send(text, files) {
    const replyTo = this.acts.answered?.item.key;
    this.acts.answer();
    this.line = undefined;
    this.present();
    return this.sending.send(text, replyTo, files);
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
    if (this.#seesEnd && newest !== undefined && this.membership !== null) {
      this.readMark.move(newest);
    }
  }

  #around(around, target) {
    return this.pages.around(around, () => { this.target = target(); });
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
