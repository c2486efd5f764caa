/** The open room: its messages, what is being sent, and the gap while there is no connection. */
import type { Attachment, AttachmentItem, Message } from "headrace-client";

import { type Chat, isAfter, messageOf } from "./chat.js";

const PAGE = 50;
const MESSAGE = "/rooms/{roomId}/messages/{key}";
const POLL = 200;
/** Milliseconds without a live message after which the newest page is read: the last one can be lost without a notice. */
const QUIET = 5_000;

/** A message that is on its way. */
export interface Outgoing {
  id: string;
  text: string;
  files: File[];
  /** What was uploaded: a message that is sent again names the same files. */
  uploaded?: Attachment[];
  /** `accepted`: it will be stored; `later`: by the retry lane. */
  state: "sending" | "accepted" | "later" | "failed";
  error?: string;
}

/** The time without a connection, until what was missed is there. */
export interface Gap {
  /** When the loss was noticed, by the clock of the device. */
  from: string;
  /** The key of the newest message before it; empty if there is none. */
  after: string;
  isClosed: boolean;
  /** How many messages of others came behind it. */
  missed: number;
}

/** Which of two states of a message is the later one: a deletion, or else the later edit, or else the later reaction. */
const version = ({ deletedAt, editedAt = "", reactionsAt = "" }: Message): string =>
  deletedAt ? `2${deletedAt}` : `${editedAt && "1"}${editedAt}/${reactionsAt}`;

export class Room {
  isLoaded = false;
  outgoing: Outgoing[] = [];
  gap: Gap | undefined;
  /** The read mark when the room was opened with unread messages: those behind it are new. */
  newFrom: string | null | undefined;
  mayInvite = false;
  #messages = new Map<string, Message>();
  #sorted: Message[] | undefined;
  /** One's own reactions, as far as they are known. */
  #mine = new Map<string, string | undefined>();
  #next: string | null = null;
  #isLoading = false;
  #timer: number | undefined;

  constructor(readonly chat: Chat, readonly id: string) {}

  /** The messages, oldest first. */
  get messages(): Message[] {
    this.#sorted ??= [...this.#messages.values()].sort((one, other) => (one.key < other.key ? -1 : 1));
    return this.#sorted;
  }

  get hasOlder(): boolean {
    return this.#next !== null;
  }

  async open(): Promise<void> {
    await this.load();
    await this.chat.try(async () => {
      const { kind, membership } = await this.chat.client.request("GET /rooms/{roomId}", { roomId: this.id });
      this.mayInvite = kind === "members" && membership?.role === "owner";
    });
  }

  /** The newest page. */
  async load(): Promise<void> {
    await this.chat.try(async () => {
      const page = await this.chat.client.request("GET /rooms/{roomId}/messages", { roomId: this.id, limit: PAGE });
      const isFirst = !this.isLoaded;
      if (isFirst) {
        const { unread = 0, readTo } = this.chat.of(this.id) ?? {};
        this.newFrom = unread > 0 ? readTo : undefined;
        [this.#next, this.isLoaded] = [page.hasMore ? page.next : null, true];
      }
      this.take(page.items);
      isFirst && this.connection(this.chat.isOnline);
      this.read();
    });
  }

  /** Read the newest page once the room is quiet, and again while a message of this tab is not in it. */
  settle(): void {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(async () => {
      if (this.chat.room === this) {
        await this.load();
        this.outgoing.some(({ state }) => state === "accepted" || state === "later") && this.settle();
      }
    }, QUIET);
  }

  /** The page before the oldest message. */
  async older(): Promise<void> {
    if (this.#isLoading || !this.hasOlder) {
      return;
    }
    this.#isLoading = true;
    await this.chat.try(async () => {
      const given = { roomId: this.id, limit: PAGE, before: this.#next ?? undefined };
      const page = await this.chat.client.request("GET /rooms/{roomId}/messages", given);
      this.#next = page.hasMore ? page.next : null;
      this.take(page.items);
    });
    this.#isLoading = false;
  }

  /** Take messages of a page or live ones; of two states of a message, the later one stays. */
  take(messages: Message[]): void {
    const gap = this.gap?.isClosed === false ? this.gap : undefined;
    for (const message of messages) {
      const known = this.#messages.get(message.key);
      if (known === undefined || version(known) < version(message)) {
        this.#messages.set(message.key, message);
      }
      const isOfOthers = message.messageType === "TEXT" && message.userId !== this.chat.user;
      if (gap && known === undefined && isOfOthers && message.key > gap.after) {
        gap.missed += 1;
      }
    }
    this.outgoing = this.outgoing.filter(({ id }) => !messages.some((each) => each.messageId === id));
    this.#sorted = undefined;
    this.chat.changed();
  }

  /** The connection began or ended: between them is a gap, which ends when what was missed was fetched. */
  connection(isOpen: boolean): void {
    const following = this.chat.of(this.id)?.membership.state === "in" ? this.chat.following(this.id) : undefined;
    if (!isOpen && this.isLoaded && this.gap?.isClosed !== false && following?.position !== undefined) {
      this.gap = { from: new Date().toISOString(), after: this.messages.at(-1)?.key ?? "", isClosed: false, missed: 0 };
    } else if (isOpen && this.gap?.isClosed === false) {
      const { gap } = this;
      const before = following?.position;
      const timer = setInterval(() => {
        if (following?.position !== before || following === undefined) {
          gap.isClosed = true;
          this.chat.changed();
        }
        if (gap.isClosed || !this.chat.isOnline || this.chat.room !== this) {
          clearInterval(timer);
        }
      }, POLL);
    }
  }

  /** Move the read mark to the newest message, if the page is looked at. */
  read(): void {
    const newest = this.messages.at(-1)?.key;
    const conversation = this.chat.of(this.id);
    if (newest !== undefined && conversation && document.hasFocus() && isAfter(newest, conversation.readTo)) {
      this.chat.marked(this.id, newest);
      this.chat.client.request("PUT /rooms/{roomId}/read", { roomId: this.id, upTo: newest }).catch(() => {}); // at the next message
    }
  }

  send(text: string, files: File[]): Promise<void> {
    const message: Outgoing = { id: this.chat.client.newId(), text, files, state: "sending" };
    this.outgoing.push(message);
    return this.deliver(message);
  }

  /** Send a message, or send it again after an error: under the same id, it is stored once. */
  async deliver(message: Outgoing): Promise<void> {
    const { id, text, files } = message;
    message.state = "sending";
    this.chat.changed();
    try {
      message.uploaded ??= await Promise.all(files.map((file) => this.chat.client.upload(this.id, file)));
      const attachments = files.length > 0 ? message.uploaded : undefined;
      const { lane } = await this.chat.client.send(this.id, text, { id, attachments });
      message.state = lane === "main" ? "accepted" : "later";
      this.settle();
    } catch (error) {
      Object.assign(message, { state: "failed", error: messageOf(error) });
    }
    this.chat.changed();
  }

  discard(message: Outgoing): void {
    this.outgoing = this.outgoing.filter((each) => each !== message);
    this.chat.changed();
  }

  edit(message: Message, text: string): Promise<void> {
    return this.chat.try(async () => {
      const given = { roomId: this.id, key: message.key, message: text, changeId: this.chat.client.newId() };
      const { timestamp } = await this.chat.client.request(`PATCH ${MESSAGE}`, given);
      this.take([{ ...message, message: text, editedAt: timestamp }]); // it will be stored
    });
  }

  delete(message: Message): Promise<void> {
    return this.chat.try(async () => {
      const given = { roomId: this.id, key: message.key, changeId: this.chat.client.newId() };
      const { timestamp } = await this.chat.client.request(`DELETE ${MESSAGE}`, given);
      this.take([{ ...message, message: "", deletedAt: timestamp, deletedBy: this.chat.user }]);
    });
  }

  /** One's own reaction to a message, as far as it is known. */
  reaction({ key }: Message): string | undefined {
    return this.#mine.get(key);
  }

  /** React to a message; the same value again takes the reaction back. */
  react(message: Message, value: string): Promise<void> {
    return this.chat.try(async () => {
      const given = { roomId: this.id, key: message.key };
      const { client, user } = this.chat;
      if (!this.#mine.has(message.key)) {
        for await (const { userId, value } of client.items(`GET ${MESSAGE}/reactions`, { ...given, limit: 200 })) {
          userId === user && this.#mine.set(message.key, value);
        }
      }
      const isBack = this.#mine.get(message.key) === value;
      const changeId = client.newId();
      await (isBack
        ? client.request(`DELETE ${MESSAGE}/reaction`, { ...given, changeId })
        : client.request(`PUT ${MESSAGE}/reaction`, { ...given, value, changeId }));
      this.#mine.set(message.key, isBack ? undefined : value);
    });
  }
}

/** The address of an attachment, if it has one: live messages have none. */
export const addressOf = (file: Attachment | AttachmentItem): string | undefined => ("url" in file ? file.url : undefined);
