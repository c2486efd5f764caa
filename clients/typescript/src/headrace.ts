import { nameOf, typeOf } from "./attachments.js";
import { Connection, type Frame, type State, type WebSocketConstructor } from "./connection.js";
import { HeadraceError, known } from "./errors.js";
import type { Following } from "./following.js";
import { Http, refusal } from "./http.js";
import { newId } from "./ids.js";
import { Rooms } from "./rooms.js";
import { type Accepted, batches, type Event, FRAME_BYTES, type Post, Sender, type SentEvent } from "./sender.js";
import { checkTimeout, DEFAULTS, type Settings } from "./settings.js";
import { type EventFields, Stream } from "./stream.js";
import { type TokenProvider, Tokens } from "./tokens.js";
import type {
  Action,
  Answer,
  Attachment,
  AttachmentItem,
  Fields,
  Item,
  Listing,
  Operation,
  Parameters,
  Result,
  Signal,
  UserChange,
} from "./types.js";

/** How events of the built-in streams are sent. */
const BATCHES = { rides: "POST /lift-rides/batch", clicks: "POST /clicks/batch" } as const;
type Kind = keyof typeof BATCHES;
type OfKind<K extends Kind> = Parameters<(typeof BATCHES)[K]> extends { events: (infer E)[] } ? E : never;
const ADDRESS_LIFETIME = 600_000; // milliseconds that the address of an upload is good

export interface Options {
  /** The HTTP API, such as "http://127.0.0.1:8787". */
  httpUrl: string;
  /** The WebSocket API, such as "ws://127.0.0.1:8788/local". */
  wsUrl: string;
  token: TokenProvider;
  /** The class of WebSockets; Node has one since version 22. */
  WebSocket?: WebSocketConstructor;
  fetch?: typeof globalThis.fetch;
  settings?: Partial<Settings>;
}

interface Events {
  /** The state of the connection, and why it ended. */
  state: [state: State, reason?: HeadraceError];
  /** A signal in a followed room, such as "typing". */
  signal: [signal: Signal];
  /** Each frame that the server pushes, also of types that this version does not know. */
  frame: [frame: Frame];
}

/** A client of Headrace: sends messages until each is accepted, and follows rooms, the user and streams without a gap. */
export class Headrace {
  readonly #settings: Settings;
  readonly #http: Http;
  readonly #connection: Connection;
  readonly #rooms: Rooms;
  readonly #sender: Sender;
  readonly #senders: Record<Kind, Sender<any, Accepted>>;
  readonly #streams = new Map<string, Stream<any>>();
  readonly #handlers: { [E in keyof Events]: Set<(...event: Events[E]) => void> } = {
    state: new Set(),
    signal: new Set(),
    frame: new Set(),
  };

  constructor(options: Options) {
    const WebSocket = options.WebSocket ?? (globalThis.WebSocket as WebSocketConstructor | undefined);
    this.#settings = { ...DEFAULTS, ...options.settings };
    checkTimeout(this.#settings.retryTimeout, 1);
    const tokens = new Tokens(options.token, this.#settings.renewBefore);
    const fetch = options.fetch ?? ((...request) => globalThis.fetch(...request));
    this.#http = new Http(options.httpUrl.replace(/\/+$/, ""), tokens, fetch, this.#settings);
    const probe = () => this.#http.request("GET /status", {}, 0); // the 401 of API Gateway comes before the function
    this.#connection = new Connection(options.wsUrl, WebSocket, tokens, this.#settings, probe, {
      opened: () => this.#rooms.opened(),
      received: (frame) => this.#received(frame),
      changed: (state, reason) => this.#changed(state, reason),
    });
    this.#rooms = new Rooms(this.#connection, this.#settings, (signal) => this.#emit("signal", signal));
    this.#sender = new Sender((...batch) => this.#post(...batch), this.#settings);
    const senderOf = (kind: Kind) =>
      batches<any, Accepted>((events) => this.#results(BATCHES[kind], { events }), this.#settings);
    this.#senders = { rides: senderOf("rides"), clicks: senderOf("clicks") };
  }

  /** The state of the connection. */
  get state(): State {
    return this.#connection.state;
  }

  /** The number of connections that were opened so far. */
  get opens(): number {
    return this.#connection.opens;
  }

  /** Call `handler` with each event of this kind. Returns a function that stops it. */
  on<E extends keyof Events>(event: E, handler: (...event: Events[E]) => void): () => void {
    this.#handlers[event].add(handler);
    return () => this.#handlers[event].delete(handler);
  }

  /** Open the connection, and resolve when it is open. Following a room does this too. */
  connect(): Promise<void> {
    return this.#connection.whenOpen();
  }

  /** Close the connection for good; loops over what is followed end. */
  close(): void {
    this.#connection.close();
  }

  /**
   * Send a message; resolves when it is accepted, and says in which lane.
   *
   * A message with the same id is the same message: after an error, send it again with the `id` of the first call. Ids
   * are made by {@link newId}; one of another form needs a `timestamp` beside it, which is the same each time. With
   * `replyTo`, the key of a message in the room, it is a reply. `attachments` are what {@link upload} returned.
   */
  send(
    roomId: string,
    text: string,
    options: { id?: string; timestamp?: string; replyTo?: string; attachments?: Attachment[] } = {},
  ): Promise<Accepted> {
    const { id = this.newId(), ...rest } = options;
    return this.#sender.send({ roomId, message: text, messageId: id, ...rest } as Event); // JSON drops what is undefined
  }

  /**
   * Send lift rides or ad clicks, in the order given and up to 500 in a request; resolves with one result for each when
   * none is left.
   *
   * Each is sent again after a temporary error. A click without an id and a time gets both before it is first sent.
   * Events that are refused have their errors, and do not hold up the others.
   */
  sendMany<K extends Kind>(kind: K, events: Iterable<OfKind<K>>): Promise<SentEvent<OfKind<K>>[]> {
    const identified = (event: any) => {
      const { clickId, messageId, clickedAt: at, timestamp, ...rest } = event;
      if (kind === "rides" || (clickId ?? messageId ?? at ?? timestamp ?? null) !== null) {
        return event;
      }
      const clickedAt = new Date(Date.now() + this.#connection.offset).toISOString();
      return { ...rest, clickId: this.newId(), clickedAt };
    };
    return this.#senders[kind].sendAll(Array.from(events, identified));
  }

  /**
   * Upload a file for a message to a room; resolves with what the message names in `attachments`.
   *
   * Its name and type are those of a `File`, unless others are given: without characters that names cannot have, and as
   * "application/octet-stream" if the platform does not take its type. A file that no message names is removed after a day.
   */
  async upload(roomId: string, data: Blob | BufferSource, options: { name?: string; type?: string } = {}): Promise<Attachment> {
    const blob = data instanceof Blob ? data : new Blob([data]);
    const name = options.name ?? nameOf(blob);
    if (name === "") {
      throw new HeadraceError("invalid_request", "an attachment needs a name");
    }
    const file = { type: typeOf(options.type ?? blob.type), bytes: blob.size };
    const operation = "POST /rooms/{roomId}/attachments";
    for (let isSecond = false; ; isSecond = true) {
      const expiresAt = Date.now() + ADDRESS_LIFETIME;
      const { id, upload } = await this.#http.request(operation, { roomId, ...file }, this.#settings.retryTimeout);
      try {
        await this.#http.put(upload.url, upload.headers, blob);
        return { id, name, ...file };
      } catch (error) {
        if (isSecond || known(error).status !== 403 || Date.now() < expiresAt) {
          throw error;
        }
      }
    }
  }

  /** A declared stream: its events, live too, and windows of them. `E` is the type of an event's fields. */
  stream<E extends object = EventFields>(name: string): Stream<E> {
    let found = this.#streams.get(name);
    if (found === undefined) {
      const post = (events: object[]) => this.#results("POST /streams/{stream}/events", { stream: name, events });
      found = new Stream(name, this, post, this.#settings, this.#rooms);
      this.#streams.set(name, found);
    }
    return found;
  }

  /** The attachments of a message, with new addresses. */
  async attachments(roomId: string, key: string): Promise<AttachmentItem[]> {
    const operation = "GET /rooms/{roomId}/messages/{key}/attachments";
    return (await this.#http.request(operation, { roomId, key }, this.#settings.retryTimeout)).attachments;
  }

  /** A new message id, a UUIDv7: it has the time of the message in it. */
  newId(): string {
    return newId(Date.now() + this.#connection.offset);
  }

  /**
   * Follow a room from now on, or from a position: that of a page of history, or of an earlier `Following`.
   *
   * Each message comes once, also across lost connections. Messages from shortly before `since` can come again, unless
   * `known` has them. Those that were edited, deleted or reacted to since then come.
   */
  follow(roomId: string, options: { since?: string; known?: Iterable<{ key: string }> } = {}): Following {
    return this.#rooms.follow(roomId, options.since, options.known ?? []);
  }

  /**
   * Follow the token's own user, from now on or from the `position` of an earlier `Following`.
   *
   * The loop gets what changes in the user's rooms, and invitations, such as `{ changed: "membership", roomId, … }`.
   * `{ changed: "lists" }` comes at first without `since`, and when changes can be missing: then read the user's rooms
   * and invitations.
   */
  followUser(userId: string, options: { since?: string } = {}): Following<UserChange> {
    return this.#rooms.followUser(userId, options.since);
  }

  /**
   * Push a text such as "typing" to those who follow the room now. It is not stored; do not send it again. A second
   * "typing" of the user in the room within three seconds is refused.
   */
  async signal(roomId: string, name: string, data = ""): Promise<void> {
    await this.frame("sendSignal", { roomId, name, data });
  }

  /** Whether up to 20 rooms have something new since positions. It follows none of them. */
  async check(rooms: Record<string, string>): Promise<Answer<"check">["rooms"]> {
    return (await this.frame("check", { rooms, subscribe: false })).rooms;
  }

  /** Send a frame of the WebSocket API once, when the connection is open; resolves with its answer. */
  async frame<A extends Action>(action: A, fields: Fields<A>): Promise<Answer<A>> {
    await this.connect();
    return this.#connection.request(action, fields);
  }

  /**
   * Make an HTTP request: `request("GET /rooms/{roomId}/messages", { roomId: "lobby", limit: 20 })`.
   *
   * It is repeated after temporary errors, a POST only after 429, for `retryTimeout` milliseconds; 0: it is made once.
   */
  request<O extends Operation>(
    operation: O,
    parameters: Parameters<O>,
    { retryTimeout = this.#settings.retryTimeout } = {},
  ): Promise<Result<O>> {
    checkTimeout(retryTimeout, 0);
    return this.#http.request(operation, parameters as Record<string, unknown>, retryTimeout);
  }

  /** The pages of a list, one after the other. */
  async *pages<O extends Listing>(operation: O, parameters: Parameters<O>): AsyncGenerator<Result<O>, void> {
    const query: Record<string, any> = { ...parameters };
    const direction = "after" in query && /(messages|clicks|events)$/.test(operation) ? "previous" : "next";
    for (;;) {
      const page: any = await this.request(operation, query as Parameters<O>);
      yield page;
      if (!page.hasMore || !page[direction]) {
        return;
      }
      for (const name of ["before", "after", "around", "from", "to"]) {
        delete query[name]; // the cursor has them
      }
      query["since" in query ? "before" : "cursor"] = page[direction];
    }
  }

  /** The items of a list, over all pages. */
  async *items<O extends Listing>(operation: O, parameters: Parameters<O>): AsyncGenerator<Item<O>, void> {
    for await (const page of this.pages(operation, parameters)) {
      yield* (page as { items: Item<O>[] }).items;
    }
  }

  /** Send events over the connection if there is one, else over HTTP. */
  #post: Post<Event, Accepted> = async (events, bytes) => {
    if (this.state === "open" && bytes <= FRAME_BYTES) {
      return { results: (await this.#connection.request("sendBatch", { events })).results };
    }
    return this.#results("POST /messages/batch", { events });
  };

  async #results<A>(operation: Operation, parameters: Record<string, unknown>): ReturnType<Post<unknown, A>> {
    const answer = await this.#http.send(operation, parameters);
    if (Array.isArray(answer.body?.results)) {
      return { results: answer.body.results, rateLimit: answer.headers.get("ratelimit") };
    }
    throw refusal(answer);
  }

  #received(frame: Frame): void {
    this.#rooms.received(frame);
    this.#emit("frame", frame);
  }

  #changed(state: State, reason: HeadraceError | undefined): void {
    if (state === "closed") {
      const error = reason ?? new HeadraceError("closed", "the client is closed");
      this.#rooms.closed(error);
      [this.#sender, ...Object.values(this.#senders)].forEach((sender) => sender.close(error));
      this.#streams.forEach((stream) => stream.close(error));
    }
    this.#emit("state", state, reason);
  }

  #emit<E extends keyof Events>(event: E, ...values: Events[E]): void {
    // Later, so that an error of a handler is not one of the client.
    this.#handlers[event].forEach((handler) => queueMicrotask(() => handler(...values)));
  }
}
