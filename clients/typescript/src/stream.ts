import { HeadraceError } from "./errors.js";
import type { Following } from "./following.js";
import type { Headrace } from "./headrace.js";
import type { Rooms } from "./rooms.js";
import { batches, type Post, type Sender, type SentEvent } from "./sender.js";
import type { Settings } from "./settings.js";
import type { Parameters, Result } from "./types.js";

/** The fields of an event, where no type of them is given. */
export type EventFields = Record<string, string | number | boolean | null | undefined>;

/** An event as it is sent. */
export type NewEvent<E> = E & { eventId?: string; timestamp?: string };

/** An event as it was stored; `key` is its place in a page. */
export type StoredEvent<E> = E & { key: string; eventId: string; timestamp: string };

/** What a stream is: its `key` is the field that its events are read by. */
export type Description = Result<"GET /streams">["items"][number];

/** An accepted event: `main` is the broker, `retry` the retry lane; both will be stored. */
export interface AcceptedEvent {
  eventId: string;
  timestamp: string;
  lane: "main" | "retry";
}

type Window = "window" | "top" | "series" | "active-users";
type Of<P extends Window | "events"> = `GET /streams/{stream}/${P}`;
type Query<O extends Of<Window | "events">> = Omit<Parameters<O>, "stream">;

/** Which events: of one `key`, or of one `user`, or all; and which page of them. */
export type EventsQuery = Query<Of<"events">> & { key?: string; user?: string };

/** A page of events, newest first. */
export type EventPage<E> = Omit<Result<Of<"events">>, "items"> & { items: StoredEvent<E>[] };

/** A window: `key`, `userId` and the fields that the stream counts, by their names, choose among its events. */
export type Filtered<P extends Window> = Query<Of<P>> & { key?: string; [field: string]: string | number | undefined };

/** A declared stream. `key` is always that of its events, whatever the name of the field. */
export class Stream<E extends object = EventFields> {
  readonly #sender: Sender<NewEvent<E>, AcceptedEvent>;
  #described: Promise<Description> | undefined;

  constructor(
    readonly name: string,
    private readonly client: Headrace,
    post: Post<NewEvent<E>, AcceptedEvent>,
    settings: Settings,
    private readonly rooms: Rooms,
  ) {
    this.#sender = batches(post, settings);
  }

  /**
   * Send an event; resolves when it is accepted, and says in which lane.
   *
   * It is sent again after a temporary error, under one id, so it is stored once. Without an `eventId` it gets a new one;
   * an id that is no UUIDv7 needs a `timestamp`. To send it again after an error, give it the id of the first call.
   */
  send(event: NewEvent<E>): Promise<AcceptedEvent> {
    return this.#sender.send(this.#withId(event));
  }

  /**
   * Send events, in the order given and up to 500 in a request; resolves with one result for each when none is left.
   *
   * Each is sent as by {@link send}. Events that are refused have their errors, and do not hold up the others.
   */
  sendMany(events: Iterable<NewEvent<E>>): Promise<SentEvent<NewEvent<E>>[]> {
    return this.#sender.sendAll(Array.from(events, (event) => this.#withId(event)));
  }

  /** Its key, its user, what is counted and summed, and the JSON schema of an event. */
  async describe(): Promise<Description> {
    const { items } = await this.client.request("GET /streams", {});
    const found = items.find(({ name }) => name === this.name);
    if (found === undefined) {
      const allowed = items.map(({ name }) => name).join(", ");
      const detail = { field: "stream", message: "is not declared", got: this.name, allowed };
      throw new HeadraceError("not_found", `there is no stream ${this.name}`, [detail]);
    }
    return found;
  }

  /** A page of events, by default the newest 20 of all keys. */
  async page(query: EventsQuery = {}): Promise<EventPage<E>> {
    return (await this.client.request(...(await this.#events(query)))) as EventPage<E>;
  }

  /** The events of all pages. */
  async *items(query: EventsQuery = {}): AsyncGenerator<StoredEvent<E>, void> {
    yield* this.client.items(...(await this.#events(query))) as AsyncGenerator<StoredEvent<E>, void>;
  }

  /**
   * Follow a key from now on, or from the `position` of an earlier `Following`.
   *
   * Each event comes once, also across lost connections. `"missed"` comes where some may be missing, such as after a cut
   * of over two minutes: then read the pages of the key.
   */
  follow(key: string, options: { since?: string } = {}): Following<StoredEvent<E> | "missed"> {
    return this.rooms.followKey(this.name, key, options.since);
  }

  /** The totals of a window: events, users, each field that is counted, and sums. */
  window(query: Filtered<"window">): Promise<Result<Of<"window">>> {
    return this.#ask("window", query);
  }

  /** The values with the most events of a window: of the field `by`, by default the key. */
  top(query: Filtered<"top">): Promise<Result<Of<"top">>> {
    return this.#ask("top", query);
  }

  /** The events and users of each `step` of a window, in seconds. */
  series(query: Filtered<"series">): Promise<Result<Of<"series">>> {
    return this.#ask("series", query);
  }

  /** How many users have an event in a window. */
  activeUsers(query: Filtered<"active-users">): Promise<Result<Of<"active-users">>> {
    return this.#ask("active-users", query);
  }

  /** Called by the client: send nothing more. */
  close(reason: HeadraceError): void {
    this.#sender.close(reason);
  }

  #withId(event: NewEvent<E>): NewEvent<E> {
    return { ...event, eventId: event.eventId ?? this.client.newId() };
  }

  async #events({ user, ...query }: EventsQuery): Promise<[Of<"events">, Parameters<Of<"events">>]> {
    const named = await this.#named(query);
    // Both answer the same pages.
    const operation = user === undefined ? "GET /streams/{stream}/events" : "GET /streams/{stream}/users/{userId}/events";
    return [operation as Of<"events">, { ...named, ...(user !== undefined && { userId: user }) }];
  }

  async #ask<P extends Window>(path: P, query: object): Promise<Result<Of<P>>> {
    const operation: Of<P> = `GET /streams/{stream}/${path}`;
    return this.client.request(operation, (await this.#named(query)) as Parameters<Of<P>>);
  }

  /** The parameters with the stream, and with the key under the name of its field. */
  async #named({ key, ...query }: { key?: string }): Promise<{ stream: string }> {
    const named = key === undefined ? {} : { [await this.#field()]: key };
    return { ...query, ...named, stream: this.name };
  }

  /** The name of the field of the key. The stage is asked for it once. */
  async #field(): Promise<string> {
    if (this.#described === undefined) {
      this.#described = this.describe();
      this.#described.catch(() => (this.#described = undefined));
    }
    return (await this.#described).key;
  }
}
