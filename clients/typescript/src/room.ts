import { HeadraceError, known, unavailable } from "./errors.js";
import { between, sleep } from "./settings.js";
import type { Action, Answer, Change, Delivered, Fields, Message, Pushed, StreamEvent } from "./types.js";

const PAGE = 200;

/** How long before the position a delivered message can be pushed again, in microseconds of the server's clock. */
const REMEMBERED = 1_800_000_000;

/** Sends a frame; resolves with its answer. */
export type Ask = <A extends Action>(action: A, fields: Fields<A>) => Promise<Answer<A>>;

/** What a room, a channel or a key of a stream has in its frames. */
type Item = Message | Change | StreamEvent;

/** What is new since a position. `next` is that of a room; a user and a key have `missed`. */
export interface Resumed {
  items: Item[];
  next?: string | null;
  missed?: boolean;
  hasMore: boolean;
  position: string;
}

/** Takes what a room, a channel or a key delivers. */
export interface Receiver {
  message(message: Delivered): void;
  /** All messages before this position were delivered. */
  moved(position: string): void;
}

/** Wait as long as a `rate_limited` says, and a random time. */
export const restAfter = (error: HeadraceError): Promise<void> =>
  sleep((error.retryAfter ?? 0) * 1000 + between(0, 1000));

/** One followed room: which messages were delivered, and up to which position the room is complete. */
export class Room {
  /** Where `resume` names it, if it does. */
  readonly place: "rooms" | "users" | undefined = "rooms";
  /** When each delivered message came, a time of the server, and its version, by its key. */
  #seen = new Map<string, [number, string]>();
  #serverTime = 0;
  /** Positions of frames that do not follow the position yet, by the tag of the frame that they follow. */
  #links = new Map<string, string>();
  #found: Item[] = [];
  /** Messages that are pushed while missed ones are fetched. They are delivered together, in order. */
  #buffered: Item[] | undefined;
  #resuming = false;
  #behind = false;
  #told: string | undefined;

  /** Follows the room from `position` on, or from now on; `known` are messages that the caller has. */
  constructor(
    readonly id: string,
    public position: string | undefined,
    known: Iterable<{ key: string }>,
    protected readonly ask: Ask,
    protected readonly receiver: Receiver,
  ) {
    this.#told = position;
    for (const message of known) {
      this.#seen.set(message.key, [position === undefined ? 0 : timeOf(position), versionOf(message as Item)]);
    }
  }

  /** Another one for each room, channel and key of a stream. */
  get key(): string {
    return this.id;
  }

  /** How `subscribe` and `unsubscribe` name it. */
  protected get named(): { roomId: string } | { userId: string } {
    return { roomId: this.id };
  }

  /** Whether a frame is late or lost. */
  get hasHole(): boolean {
    return this.#links.size > 0;
  }

  /** How many messages were fetched and not delivered yet. */
  get fetched(): number {
    return this.#found.length;
  }

  /** Subscribe for the first time. */
  async subscribe(): Promise<void> {
    this.#resuming = true;
    this.#buffered = [];
    try {
      // Earlier messages are not delivered, but must be known: later answers can repeat some of them.
      for (const message of await this.newest()) {
        this.#seen.set(message.key, [this.#serverTime, versionOf(message)]);
      }
      const { position } = await this.start();
      this.subscribed();
      this.#move(position);
    } finally {
      this.end();
    }
  }

  protected start(): Promise<{ position: string }> {
    return this.ask("subscribe", this.named);
  }

  /** Let the server push nothing more. */
  leave(): Promise<unknown> {
    return this.ask("unsubscribe", this.named);
  }

  /** The messages that a page from now on repeats. */
  protected async newest(): Promise<Message[]> {
    try {
      const { position } = await this.ask("history", { roomId: this.id, limit: 1 });
      this.#see(position);
      return (await this.#fetch(position)).items;
    } catch (error) {
      if (known(error).code === "not_found") {
        return []; // a room that begins with its first message
      }
      throw error;
    }
  }

  /** Called after the first subscription. */
  protected subscribed(): void {}

  /** Called where the answer cannot have all that is new. */
  protected missed(): void {}

  /** Take pushed messages; returns `true` if earlier ones are lost. Then it must be resumed. */
  receive(frame: Pushed): boolean {
    const { position, follows, through = [] } = frame;
    if (position !== undefined) {
      this.#see(position);
    }
    if (follows !== undefined && position !== undefined) {
      for (const tag of [follows, ...through]) {
        this.#links.set(tag, position);
      }
      if (!this.#resuming) {
        this.#advance();
      }
    }
    const lost = frame.missed === true && (this.#resuming || this.hasHole || follows === undefined);
    if (lost && this.position !== undefined) {
      this.#buffered ??= [];
    }
    if (this.#buffered !== undefined) {
      this.#buffered.push(...frame.items);
    } else if (this.position !== undefined) {
      this.#deliver(frame.items);
    }
    this.#tell();
    return lost;
  }

  /** Begin to resume. `false` if the room is being resumed: then it is resumed once more. */
  begin(): boolean {
    if (this.#resuming || this.position === undefined) {
      this.#behind = true;
      return false;
    }
    this.#resuming = true;
    this.#behind = false;
    this.#buffered ??= [];
    this.#links.clear(); // the answer has all frames that came before the request
    return true;
  }

  /** Take the answer for this room; returns whether to resume again. After an error the position stays. */
  async take(answer: Resumed | undefined): Promise<boolean> {
    const since = this.position as string;
    let found = answer;
    if (found === undefined) {
      found = { ...(await this.#fetch(since)), next: null, hasMore: false };
    } else if (found.next) {
      found = { ...found, items: [...found.items, ...(await this.#fetch(since, found.next)).items], hasMore: false };
    }
    if (found.missed) {
      this.missed();
    }
    this.#found.push(...found.items);
    this.#move(found.position);
    const again = this.#behind || found.hasMore;
    this.#behind = false;
    return again;
  }

  /** End resuming, and deliver what was fetched and pushed. */
  end(): void {
    const all = [...this.#found, ...(this.#buffered ?? [])];
    this.#found = [];
    this.#buffered = undefined;
    this.#resuming = false;
    if (this.position !== undefined) {
      this.#deliver(all.sort(inOrder));
      this.#advance();
      this.#tell();
    }
  }

  #tell(): void {
    if (this.#buffered === undefined && this.position !== undefined && this.position !== this.#told) {
      this.#told = this.position;
      this.receiver.moved(this.position);
    }
  }

  #move(position: string): void {
    this.position = position;
    this.#see(position);
  }

  #see(position: string): void {
    this.#serverTime = Math.max(this.#serverTime, timeOf(position));
  }

  /** Move the position over all frames that follow it, and forget those that lead to it. */
  #advance(): void {
    let next: string | undefined = this.position;
    while (next !== undefined && tagOf(next) !== "") {
      const tag = tagOf(next);
      if (next !== this.position) {
        this.#move(next);
      }
      const passed = [tag]; // grows while it is looped over
      for (const at of passed) {
        for (const [before, position] of this.#links) {
          if (tagOf(position) === at) {
            this.#links.delete(before);
            passed.push(before);
          }
        }
      }
      next = this.#links.get(tag);
      this.#links.delete(tag);
    }
  }

  #deliver(messages: Iterable<Item>): void {
    for (const message of messages) {
      const { key } = message;
      const version = versionOf(message);
      const known = this.#seen.get(key);
      if (known === undefined || known[1] < version) {
        this.#seen.delete(key); // the oldest stays the first
        this.#seen.set(key, [this.#serverTime, version]);
        this.receiver.message(message);
      }
    }
    const oldest = timeOf(this.position as string) - REMEMBERED;
    for (const [key, [came]] of this.#seen) {
      if (came >= oldest) {
        break;
      }
      this.#seen.delete(key);
    }
  }

  /** The messages that were stored since a position, and the position of their first page. */
  async #fetch(since: string, before?: string): Promise<{ items: Message[]; position: string }> {
    const items: Message[] = [];
    for (;;) {
      try {
        const page = await this.ask("history", { roomId: this.id, limit: PAGE, since, before });
        items.push(...page.items);
        if (!page.hasMore || page.next === null) {
          return { items, position: page.position };
        }
        before = page.next;
      } catch (error) {
        const { code } = known(error);
        if (code === "rate_limited") {
          await restAfter(known(error));
        } else if (code === "not_found") {
          return { items, position: since }; // a room that begins with its first message
        } else if (code === "invalid_cursor") {
          throw unavailable("the cursor is outdated; the next attempt starts from the first page");
        } else {
          throw error;
        }
      }
    }
  }
}

/** Messages by their keys, which begin with their times; changes by their times. */
function inOrder(one: Item, other: Item): number {
  const name = one.timestamp === other.timestamp ? "key" : "timestamp";
  return one[name] < other[name] ? -1 : one[name] > other[name] ? 1 : 0;
}

/** Orders what a message shows: its first text, its edits, its deletion; and each with the reactions to it. */
function versionOf(item: Item): string {
  const { deletedAt, editedAt, reactionsAt = "" } = item as Partial<Message>;
  return deletedAt ? `2${deletedAt}` : (editedAt ? `1${editedAt}` : reactionsAt && "0") + reactionsAt;
}

/** The server's time of a position, in microseconds. */
const timeOf = (position: string): number => Number(position.slice(1, 17));

/** The tag of the newest frame at a position; "" if it is unknown. */
const tagOf = (position: string): string => position.slice(18);
