import type { HeadraceError } from "./errors.js";
import type { Receiver } from "./room.js";
import type { Delivered, Message } from "./types.js";

type Entry<T> = { message: T } | { position: string };

/** Messages of a room, changes of a user, or events of a key, as they come. Leaving the loop over it stops following. */
export class Following<T extends Delivered = Message> implements AsyncIterableIterator<T>, Receiver {
  /** Resolves when the server pushes: each message, change or event that is stored from then on comes. */
  readonly ready: Promise<void>;
  /**
   * Where to go on with `since`: the loop has taken all messages that were stored before this position. Undefined
   * before that.
   */
  position: string | undefined;
  #entries: Entry<T>[] = [];
  #waiting: ((result: IteratorResult<T> | Promise<never>) => void)[] = [];
  /** Whether the loop works on a message that it took. */
  #working = false;
  #ended = false;
  #error: HeadraceError | undefined;
  #isReady!: () => void;
  #isNotReady!: (error: HeadraceError) => void;

  constructor(
    /** The id of the room or the user, or the key of the stream. */
    readonly id: string,
    since: string | undefined,
    private readonly leave: () => void,
    private readonly caughtUp: () => void,
  ) {
    this.position = since;
    this.ready = new Promise((resolve, reject) => {
      this.#isReady = resolve;
      this.#isNotReady = reject;
    });
    this.ready.catch(() => {}); // the loop throws the error too
  }

  /** How many messages and positions the loop has not taken. */
  get waiting(): number {
    return this.#entries.length;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T>> {
    this.#working = false;
    for (let entry = this.#entries.shift(); entry !== undefined; entry = this.#entries.shift()) {
      if ("message" in entry) {
        this.#working = true;
        return Promise.resolve({ done: false, value: entry.message });
      }
      this.position = entry.position;
    }
    if (this.#error !== undefined) {
      return Promise.reject(this.#error);
    }
    if (this.#ended) {
      return Promise.resolve({ done: true, value: undefined });
    }
    this.caughtUp();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  return(): Promise<IteratorResult<T>> {
    this.close();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Stop following. Messages that the loop has not taken are dropped. */
  close(): void {
    this.#entries = [];
    if (!this.#ended) {
      this.leave();
      this.end();
    }
  }

  /** Called by the client: a message of the room, a change, or an event. */
  message(message: T): void {
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) {
      this.#working = true;
      waiting({ done: false, value: message });
    } else {
      this.#entries.push({ message });
    }
  }

  /** Called by the client: all messages before this position were passed to {@link message}. */
  moved(position: string): void {
    this.#isReady();
    if (this.#entries.length === 0 && !this.#working) {
      this.position = position;
    } else {
      this.#entries.push({ position });
    }
  }

  /** Called by the client: no further message comes; with an error, the loop throws it. */
  end(error?: HeadraceError): void {
    this.#ended = true;
    this.#error = error;
    if (error !== undefined) {
      this.#isNotReady(error);
    }
    for (const waiting of this.#waiting.splice(0)) {
      waiting(error === undefined ? { done: true, value: undefined } : Promise.reject(error));
    }
  }
}
