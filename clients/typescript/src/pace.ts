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

  /** Take the header `RateLimit` of an answer. */
  told(header: string | null | undefined, now: number): void {
    ({ left: this.#left, resetAt: this.#resetAt } = limitOf(header, now));
  }
}

/** Read the header `RateLimit` of an answer, such as `"events";r=480;t=5`. Its parameters are read as a query's are. */
export function limitOf(header: string | null | undefined, now: number): { name: string; left: number; resetAt: number } {
  const said = new URLSearchParams((header ?? "").replace(/; */g, "&"));
  const [name = ""] = said.keys();
  return { name, left: Number(said.get("r") ?? Infinity) || 0, resetAt: now + (Number(said.get("t")) || 0) * 1000 };
}
