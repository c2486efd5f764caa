/** The user's rooms: read from the lists, and kept up to date by live messages and by the user's channel. */
import { type Following, Headrace, HeadraceError, type Item, type Message } from "headrace-client";

import { Room } from "./room.js";
import type { Session } from "./session.js";

export type Conversation = Item<"GET /users/{userId}/rooms">;
type Invitation = Item<"GET /users/{userId}/invitations">;

/** So many rooms are followed live: those with the newest messages. */
const FOLLOWED = 50;
/** Milliseconds in which changes are read together. */
const GATHER = 200;

/** A read mark is a key or a time; whether `key` is behind it. */
export const isAfter = (key: string, mark: string | null): boolean => mark === null || `${key}$` > `${mark}$`;

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export class Chat {
  readonly client: Headrace;
  readonly user: string;
  conversations: Conversation[] = [];
  invitations: Invitation[] = [];
  isLoaded = false;
  room: Room | undefined;
  /** What the page says went wrong, until the user closes it or goes to another room. */
  error: unknown;
  /** Draws the page; set by it. */
  changed: () => void = () => {};
  #followed = new Map<string, Following>();
  #timer: number | undefined;

  constructor(readonly session: Session) {
    const { httpUrl, wsUrl } = session.config;
    this.user = session.user ?? "";
    this.client = new Headrace({ httpUrl, wsUrl, token: session.token });
    this.client.on("state", (state, reason) => {
      if (state === "closed") {
        this.error = reason ?? this.error;
      } else if (state === "open" && this.error instanceof HeadraceError && this.error.temporary) {
        this.error = undefined; // a refusal stays
        this.#reload();
      }
      this.room?.connection(this.isOnline);
      this.changed();
    });
    addEventListener("hashchange", () => {
      this.error = undefined;
      this.go();
    });
    addEventListener("focus", () => this.room?.read());
  }

  get isOnline(): boolean {
    return this.client.state === "open";
  }

  async start(): Promise<void> {
    void this.try(() => this.#read()).then(() => this.go()); // what is new in a room is known then
    for await (const change of this.client.followUser(this.user)) {
      if (change.changed === "readMark") {
        this.marked(change.roomId, change.readTo ?? null);
      } else {
        this.#reload();
      }
    }
  }

  /** Show the room that the address names. */
  go(): void {
    const [, encoded] = location.hash.match(/^#\/rooms\/(.+)$/) ?? [];
    let id: string | undefined;
    try {
      id = encoded && decodeURIComponent(encoded);
    } catch {
      this.error = `The address names no room: ${location.hash} is not encoded as a URL.`;
    }
    if (id !== this.room?.id) {
      this.room = id ? new Room(this, id) : undefined;
      void this.room?.open();
    }
    this.changed();
  }

  of(roomId: string): Conversation | undefined {
    return this.conversations.find((each) => each.roomId === roomId);
  }

  /** What is followed of a room that the user is in. */
  following(roomId: string): Following {
    let following = this.#followed.get(roomId);
    if (following === undefined) {
      following = this.client.follow(roomId);
      this.#followed.set(roomId, following);
      void this.#run(roomId, following);
    }
    return following;
  }

  /** Do something, and show why it fails. */
  async try(act: () => Promise<unknown>): Promise<void> {
    try {
      await act();
    } catch (error) {
      this.error = error;
    }
    this.changed();
  }

  /** Create a room, or join the open one that exists. */
  join(roomId: string, kind: "open" | "members"): Promise<void> {
    return this.try(async () => {
      await this.client.request("PUT /rooms/{roomId}", { roomId, kind });
      await this.accept(roomId);
    });
  }

  async accept(roomId: string): Promise<void> {
    await this.client.request("PUT /rooms/{roomId}/members/{userId}", { roomId, userId: this.user });
    location.hash = `#/rooms/${encodeURIComponent(roomId)}`;
    this.#reload();
  }

  /** Leave a room for good, or decline an invitation. */
  leave(roomId: string): Promise<void> {
    return this.try(async () => {
      await this.client.request("DELETE /rooms/{roomId}/members/{userId}", { roomId, userId: this.user, forGood: true });
      this.#followed.get(roomId)?.close();
      this.#followed.delete(roomId);
      if (this.room?.id === roomId) {
        location.hash = "";
      }
      this.#reload();
    });
  }

  invite(roomId: string, userId: string): Promise<void> {
    return this.try(() => this.client.request("PUT /rooms/{roomId}/members/{userId}", { roomId, userId }));
  }

  /** The user has read a room up to here, in this tab or in another. */
  marked(roomId: string, readTo: string | null): void {
    const found = this.of(roomId);
    if (found === undefined || readTo === null || !isAfter(readTo, found.readTo)) {
      return;
    }
    found.readTo = readTo;
    if (found.lastMessage === null || !isAfter(found.lastMessage.key, readTo)) {
      found.unread = 0;
      this.changed();
    } else {
      this.#reload(); // the server counts what is behind the mark
    }
  }

  #reload(): void {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => void this.try(() => this.#read()), GATHER);
  }

  async #read(): Promise<void> {
    const { user: userId } = this;
    const [rooms, invitations] = await Promise.all([
      this.client.request("GET /users/{userId}/rooms", { userId, limit: FOLLOWED }),
      this.client.request("GET /users/{userId}/invitations", { userId }),
    ]);
    this.conversations = rooms.items;
    this.invitations = invitations.items;
    this.isLoaded = true;
    this.conversations.filter(({ membership }) => membership.state === "in").forEach(({ roomId }) => this.following(roomId));
  }

  async #run(roomId: string, following: Following): Promise<void> {
    // What was stored before the room was followed is only in what is read from now on.
    following.ready.then(() => { this.#reload(); this.room?.id === roomId && void this.room.load(); }, () => {});
    try {
      for await (const message of following) {
        this.#arrived(roomId, message);
      }
    } catch (error) {
      this.#followed.delete(roomId);
      if (!(error instanceof HeadraceError && ["forbidden", "not_found"].includes(error.code))) {
        this.error = error;
        this.changed();
      }
    }
  }

  #arrived(roomId: string, message: Message): void {
    const isShown = this.room?.id === roomId;
    if (isShown) {
      this.room?.take([message]);
      this.room?.read();
      this.room?.settle();
    }
    const found = this.of(roomId);
    if (found === undefined || message.editedAt || message.deletedAt || message.reactionsAt) {
      this.#reload(); // only the server knows what is unread then
      return;
    }
    const isNew = isAfter(message.key, found.lastMessage?.key ?? found.readTo);
    if (message.userId !== this.user && message.messageType === "TEXT" && isAfter(message.key, found.readTo)) {
      found.unread += 1;
    }
    if (isNew) {
      found.lastMessage = message;
      this.conversations = [found, ...this.conversations.filter((each) => each !== found)];
    }
    this.changed();
  }
}
