/** Times in milliseconds. */
export interface Settings {
  /** How long a request or a frame waits for its answer. */
  answerTimeout: number;
  /** How long a `ping` waits for its answer, until the connection counts as lost. */
  pingTimeout: number;
  /** The longest silence of a connection; then a `ping` asks whether it still works. */
  pingInterval: number;
  /** The longest time after which followed rooms ask for messages that were not pushed. */
  checkInterval: number;
  /** How long a frame may come after the one that follows it, until it counts as lost. */
  lateFrame: number;
  /** How long before its expiry a token is renewed. */
  renewBefore: number;
  /** The bound of the first random pause before a new attempt; it doubles with each failure. */
  firstPause: number;
  /** The largest bound of a pause. */
  longestPause: number;
  /** How long a request or a message is tried again after its first refusal for a time, until it fails. */
  retryTimeout: number;
  /** How many messages wait for the loop over a room; then the rest is fetched when the loop has taken them. */
  mostWaiting: number;
}

export const DEFAULTS: Settings = {
  answerTimeout: 15_000,
  pingTimeout: 5_000,
  pingInterval: 60_000,
  checkInterval: 540_000,
  lateFrame: 1_000,
  renewBefore: 60_000,
  firstPause: 1_000,
  longestPause: 30_000,
  retryTimeout: 120_000,
  mostWaiting: 10_000,
};

/** Throw unless a `retryTimeout` is a number of milliseconds from `least`. */
export function checkTimeout(retryTimeout: unknown, least: number): void {
  if (typeof retryTimeout !== "number" || !(retryTimeout >= least)) {
    throw new RangeError(`retryTimeout: ${retryTimeout} is not a number of milliseconds from ${least}`);
  }
}

/** Wait. */
export const sleep = (milliseconds: number): Promise<void> => new Promise((done) => setTimeout(done, milliseconds));

/** A random number from `low` to `high`: clients that failed together must not return together. */
export const between = (low: number, high: number): number => low + Math.random() * (high - low);

/** The pause before attempt number `failed` + 1, with the `retryAfter` of the server in seconds. */
export function pauseAfter(failed: number, settings: Settings, retryAfter = 0): number {
  const bound = Math.min(settings.longestPause, settings.firstPause * 2 ** Math.min(failed, 16));
  return Math.min(Math.max(retryAfter, 0), 300) * 1000 + between(0, bound);
}
