// The user's conversations and invitations: read from the lists, and kept up to date by live messages and changes.
import { Feeds } from "./feeds.js";
import { isAfter } from "./history.js";
import { texts } from "./texts.js";

const PAGE = 50;
const FOLLOWED = 50; // the newest conversations, live
const GATHER = 150; // milliseconds in which changes are read together
const MOST_INVITATIONS = 100;

/** The address of a room's view. */
export const hrefOf = (roomId) => `#/rooms/${encodeURIComponent(roomId)}`;

const byActivity = (a, b) => (a.activityAt > b.activityAt ? -1 : a.activityAt < b.activityAt ? 1 : 0);

/**
 * `items` are those of GET /users/{userId}/rooms, newest activity first. `changed()` is called after each change.
 * `message(roomId, item)` is called for each live message of a followed room, and returns whether it is seen at once;
 * `ended(roomId)` when a room can be followed no longer, and `membership(roomId)` when the user's place in it changed.
 */
export class Conversations {
  #tell;
  items = [];
  invitations = [];
  isLoaded = false;
  /** Resolves when the list was read for the first time, or failed. */
  loaded = new Promise((done) => { this.#tell = done; });
  hasMore = false;
  complete = true;
  error;
  /** The names of the other users of direct rooms. */
  #others = new Map();
  /** Texts of others that came live, by room: the list perhaps does not count them yet. */
  #live = new Map();
  #next = null;
  #timer;
  #reading;
  #again = false;
  #isClosed = false;

  constructor(client, user, { changed, message, ended, membership }) {
    Object.assign(this, { client, user, changed, membership });
    const arrived = (roomId, item) => this.#arrived(roomId, item, message(roomId, item));
    // What was stored after the list was read, and before the room was followed, is only in a list that is read now.
    this.feeds = new Feeds(client, { message: arrived, ready: () => this.#reload(), ended });
  }

  /** Read the lists, and follow the user: the first change asks for the lists. */
  async start() {
    this.#reload();
    this.channel = this.client.followUser(this.user);
    try {
      for await (const change of this.channel) {
        if (change.changed === "readMark") {
          this.#marked(change.roomId, change.readTo);
        } else {
          this.#reload();
          this.membership(change.roomId);
        }
      }
    } catch (error) {
      this.error = error;
      this.changed();
    }
  }

  close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.channel?.close();
    this.feeds.close();
  }

  of(roomId) {
    return this.items.find((each) => each.roomId === roomId);
  }

  /** What a conversation is called: its name, the other user of a direct room, or its id. */
  title({ roomId, name, form }) {
    return name ?? (form === "direct" ? (this.#others.get(roomId) ?? texts.kinds.person) : roomId);
  }

  /** Read the lists soon; changes that come together are read once. */
  refresh() {
    this.#reload();
  }

  /** The next page of the list. */
  async more() {
    if (this.#next === null || this.#reading) {
      return;
    }
    await this.#read(async () => this.#take(await this.#page(this.#next), this.items));
  }

  /** One's own read mark was moved to the newest message. */
  read(roomId, readTo) {
    this.#marked(roomId, readTo);
  }

  #reload() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#readAll(), this.isLoaded ? GATHER : 0);
  }

  async #readAll() {
    if (this.#reading) {
      this.#again = true;
      return;
    }
    await this.#read(async () => {
      const wanted = Math.max(1, Math.ceil(this.items.length / PAGE));
      const [first, { items }] = await Promise.all([
        this.#page(),
        this.client.request("GET /users/{userId}/invitations", { userId: this.user, limit: MOST_INVITATIONS }),
      ]);
      this.invitations = items;
      this.#take(first, []);
      for (let page = 1; page < wanted && this.#next !== null; page += 1) {
        this.#take(await this.#page(this.#next), this.items);
      }
    });
    if (this.#again) {
      this.#again = false;
      this.#reload();
    }
  }

  async #read(work) {
    this.#reading = true;
    try {
      await work();
      this.error = undefined;
      this.isLoaded = true;
    } catch (error) {
      this.error = error;
    } finally {
      this.#reading = false;
      this.#tell();
    }
    if (!this.#isClosed) {
      this.#follow();
      this.changed();
    }
  }

  #page(before) {
    return this.client.request("GET /users/{userId}/rooms", { userId: this.user, limit: PAGE, before });
  }

  #take(page, earlier) {
    const known = new Set(earlier.map(({ roomId }) => roomId));
    const items = page.items.filter(({ roomId }) => !known.has(roomId)).map((item) => this.#merged(item));
    this.items = [...earlier, ...items].sort(byActivity);
    this.#next = page.hasMore ? page.next : null;
    this.hasMore = this.#next !== null;
    this.complete = page.complete;
  }

  /** An item of the list, with what came live since it was counted. */
  #merged(item) {
    const newest = item.lastMessage?.key ?? "";
    const texts = (this.#live.get(item.roomId) ?? []).filter(
      (each) => each.key > newest && isAfter(each.key, item.readTo),
    );
    this.#live.set(item.roomId, texts);
    const last = texts.at(-1);
    return last === undefined
      ? item
      : { ...item, unread: item.unread + texts.length, lastMessage: last, activityAt: last.timestamp };
  }

  #arrived(roomId, item, isSeen) {
    const found = this.of(roomId);
    if (found === undefined) {
      return; // its membership is a change of the user
    }
    if (item.editedAt || item.deletedAt || item.reactionsAt) {
      this.#changedText(found, item);
      return;
    }
    if (!isSeen && item.userId !== this.user && item.messageType === "TEXT" && isAfter(item.key, found.readTo)) {
      found.unread += 1;
      this.#live.set(roomId, [...(this.#live.get(roomId) ?? []).slice(-PAGE), item]);
    }
    if (item.key > (found.lastMessage?.key ?? "")) {
      found.lastMessage = item;
      found.activityAt = item.timestamp;
      this.items.sort(byActivity);
    }
    this.changed();
  }

  /** A message was edited or deleted, or somebody reacted to it: only the server counts what is unread then. */
  #changedText(found, item) {
    if (item.key === found.lastMessage?.key) {
      found.lastMessage = item;
    }
    if (isAfter(item.key, found.readTo)) {
      this.#live.delete(found.roomId);
      this.#reload();
    }
    this.changed();
  }

  #marked(roomId, readTo) {
    const found = this.of(roomId);
    if (found === undefined || (found.readTo !== null && !isAfter(readTo, found.readTo))) {
      return;
    }
    found.readTo = readTo;
    if (found.lastMessage === null || !isAfter(found.lastMessage.key, readTo)) {
      Object.assign(found, { unread: 0, unreadCapped: false });
      this.#live.delete(roomId);
      this.changed();
    } else {
      this.#reload(); // only the server counts what is between
    }
  }

  /** Follow the newest conversations, and learn the names of direct rooms. */
  #follow() {
    const now = this.items.filter(({ membership }) => membership.state === "in").slice(0, FOLLOWED);
    now.filter(({ roomId }) => !this.feeds.has(roomId)).forEach(({ roomId }) => this.feeds.follow(roomId));
    for (const { roomId, form, lastMessage } of this.items) {
      if (form === "direct" && !this.#others.has(roomId)) {
        this.#others.set(roomId, lastMessage && lastMessage.userId !== this.user ? lastMessage.username : undefined);
        this.#learn(roomId);
      }
    }
  }

  async #learn(roomId) {
    if (this.#others.get(roomId) !== undefined) {
      return;
    }
    try {
      const members = await this.client.request("GET /rooms/{roomId}/members", { roomId });
      const invited = await this.client.request("GET /rooms/{roomId}/invitations", { roomId });
      const other = [...members.items, ...invited.items].find(({ userId }) => userId !== this.user);
      this.#others.set(roomId, other?.username ?? other?.userId);
      this.changed();
    } catch {
      // A former member sees no list: the room is shown by its id.
    }
  }
}
