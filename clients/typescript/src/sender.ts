import { errorOf, type HeadraceError, known, unavailable } from "./errors.js";
import { Pace } from "./pace.js";
import { pauseAfter, type Settings, sleep } from "./settings.js";
import type { ErrorBody, Parameters } from "./types.js";

/** A message as it is sent. */
export type Event = Parameters<"POST /messages/batch">["events"][number];

/** An accepted message: `main` is the broker, `retry` the retry lane; both will be stored. */
export interface Accepted {
  roomId: string;
  messageId: string;
  timestamp: string;
  lane: "main" | "retry";
}

/** What became of one event of many: `event` is as it was sent, and `lane` accepted it, or `error` says why none did. */
export interface SentEvent<E> {
  event: E;
  lane?: Accepted["lane"];
  error?: HeadraceError;
}

/** Sends events; resolves with one result or error for each, and with the header `RateLimit` of the answer. */
export type Post<E, A> = (
  events: E[],
  bytes: number,
) => Promise<{ results: (Partial<A> & { error?: ErrorBody })[]; rateLimit?: string | null }>;

interface Queued<E, A> {
  event: E;
  bytes: number;
  /** When it fails; unknown before its first refusal. */
  giveUpAt?: number;
  /** How many events its request may have, after a larger one was refused. */
  most?: number;
  resolve(accepted: A): void;
  reject(error: HeadraceError): void;
}

/** A batch has at most this many bytes: API Gateway closes the connection on a frame of over 32 KB. */
export const FRAME_BYTES = 30_000;

/** Sends each event until it is accepted or refused for good, one request at a time, in the order given. */
export class Sender<E = Event, A = Accepted> {
  #queue: Queued<E, A>[] = [];
  #sending = false;
  #failed = 0;
  #closed: HeadraceError | undefined;

  constructor(
    private readonly post: Post<E, A>,
    private readonly settings: Settings,
    private readonly pace = new Pace(),
    private readonly largest = FRAME_BYTES,
  ) {}

  send(event: E): Promise<A> {
    if (this.#closed !== undefined) {
      return Promise.reject(this.#closed);
    }
    return new Promise((resolve, reject) => {
      const bytes = new TextEncoder().encode(JSON.stringify(event)).length + 1;
      this.#queue.push({ event, bytes, resolve, reject });
      if (!this.#sending) {
        this.#sending = true;
        queueMicrotask(() => void this.#run()); // messages of one turn are one batch
      }
    });
  }

  /** Send events, in the order given; resolves with one result for each when none is left. */
  sendAll(events: Iterable<E>): Promise<SentEvent<E>[]> {
    const sent = Array.from(events, (event) =>
      this.send(event).then(
        (accepted) => ({ event, lane: (accepted as Accepted).lane }),
        (error) => ({ event, error: known(error) }),
      ),
    );
    return Promise.all(sent);
  }

  /** Send nothing more. */
  close(reason: HeadraceError): void {
    this.#closed = reason;
    this.#queue.splice(0).forEach((each) => each.reject(reason));
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      const wait = this.pace.delay(Date.now());
      if (wait > 0) {
        await sleep(wait);
        continue; // the queue is perhaps empty now, or longer
      }
      const batch = this.#take();
      this.pace.sent(batch.length, Date.now());
      const errors = await this.#errors(batch);
      const refusals = errors.filter((error) => error?.temporary);
      let pause = 0;
      if (refusals.length > 0) {
        this.pace.refused();
        const retryAfter = Math.max(0, ...refusals.map((each) => each?.retryAfter ?? 0));
        pause = pauseAfter(this.#failed++, this.settings, retryAfter);
      } else {
        this.#failed = 0;
        this.pace.accepted(Date.now());
      }
      this.#queue.unshift(...batch.filter((each, index) => this.#isSentAgain(each, errors[index], pause)));
      if (pause > 0) {
        await sleep(pause);
      }
    }
    this.#sending = false;
  }

  /** The first events that fit one request. */
  #take(): Queued<E, A>[] {
    const most = Math.min(this.pace.most(Date.now()), this.#queue[0]?.most ?? Infinity);
    let bytes = 0;
    let count = 0;
    for (const each of this.#queue.slice(0, most)) {
      bytes += each.bytes;
      if (count > 0 && bytes > this.largest) {
        break;
      }
      count += 1;
    }
    return this.#queue.splice(0, count);
  }

  /** Whether an event is sent again after a pause. If it has an error and is not, it fails. */
  #isSentAgain(each: Queued<E, A>, error: HeadraceError | undefined, pause: number): boolean {
    if (error === undefined) {
      return false;
    }
    each.giveUpAt ??= Date.now() + this.settings.retryTimeout;
    if (error.temporary && Date.now() + pause < each.giveUpAt && this.#closed === undefined) {
      return true;
    }
    each.reject(error);
    return false;
  }

  /** Post a batch and resolve what is accepted; returns the error of each event that is not, and is not queued again. */
  async #errors(batch: Queued<E, A>[]): Promise<(HeadraceError | undefined)[]> {
    try {
      const bytes = batch.reduce((sum, each) => sum + each.bytes, 0);
      const { results, rateLimit } = await this.post(
        batch.map((each) => each.event),
        bytes,
      );
      this.pace.told(rateLimit, Date.now());
      if (results.length !== batch.length) {
        throw unavailable("an answer without a result for each event");
      }
      return results.map((result, index) => {
        if (result.error !== undefined) {
          return errorOf(result.error);
        }
        batch[index]?.resolve(result as A);
        return undefined;
      });
    } catch (error) {
      const failed = known(error);
      if (failed.code === "invalid_request" && batch.length > 1 && this.#closed === undefined) {
        batch.forEach((each) => (each.most = batch.length >> 1)); // perhaps because of one event, which then is alone
        this.#queue.unshift(...batch);
        return [];
      }
      return batch.map(() => failed);
    }
  }
}

/** A sender of up to 500 events in a request, which is first tried with 1,000 events a second. */
export function batches<E, A>(post: Post<E, A>, settings: Settings): Sender<E, A> {
  return new Sender(post, settings, new Pace(1_000, 500), 4_000_000);
}
