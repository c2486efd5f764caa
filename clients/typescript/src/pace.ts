/** How fast events are sent, in events per second. */
const FIRST = 100;
const LOWEST = 1;
const INCREASE = 5;
const MOST = 100;

/**
 * The rate of one sender. It halves with each refusal and grows again slowly, so that senders that share a limit divide
 * it. It reads no clock: callers pass the time in milliseconds.
 */
export class Pace {
  #nextAt = 0;
  #grewAt: number | undefined;
  /** What the server's limit has left until it is reset. */
  #left = Infinity;
  #resetAt = 0;

  /** `rate`: the first one. At most `largest` events are sent at once. */
  constructor(
    public rate = FIRST,
    private readonly largest = MOST,
  ) {}

  /** Milliseconds until the next events can be sent. */
  delay(now: number): number {
    return Math.max(0, this.#nextAt - now, this.#left < 1 ? this.#resetAt - now : 0);
  }

  /** How many events can be sent at once. */
  most(now: number): number {
    const left = now < this.#resetAt ? this.#left : Infinity;
    return Math.max(1, Math.min(this.largest, Math.floor(this.rate), left));
  }

  sent(events: number, now: number): void {
    this.#nextAt = Math.max(now, this.#nextAt) + (events / this.rate) * 1000;
    this.#left -= events;
    this.#grewAt ??= now;
  }

  /** An answer without a temporary error. */
  accepted(now: number): void {
    this.rate += (INCREASE * Math.min(1000, now - (this.#grewAt ?? now))) / 1000;
    this.#grewAt = now;
  }

  refused(): void {
    this.rate = Math.max(LOWEST, this.rate / 2);
    this.#grewAt = undefined;
  }

  /** Take the header `RateLimit` of an answer, such as `"events";r=480;t=5`. */
  told(header: string | null | undefined, now: number): void {
    const found = /"events";r=(\d+);t=(\d+)/.exec(header ?? "");
    this.#left = found === null ? Infinity : Number(found[1]);
    this.#resetAt = found === null ? 0 : now + Number(found[2]) * 1000;
  }
}
