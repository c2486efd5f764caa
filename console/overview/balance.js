// Whether every accepted event is stored or waits in a lane.

/** How long the lanes are empty and nothing changes until what is missing counts as lost, in milliseconds. */
const QUIET = 15_000;

const queued = (lane) => (lane?.waiting ?? 0) + (lane?.inFlight ?? 0) + (lane?.delayed ?? 0);

/** The numbers of the lanes in an answer of GET /status; `undefined` where a service did not answer. */
export function depths(status) {
  const { main, retry, dead, parked } = status?.lanes ?? {};
  const known = (lane) => lane !== undefined && lane.state !== "unknown";
  const ready = Object.values(main?.queues ?? {}).map((queue) => queue.ready);
  return {
    // One of two brokers may be lost: how many events its queues hold is unknown then.
    main: main?.queues && !ready.includes(undefined) ? ready.reduce((sum, each) => sum + each, 0) : undefined,
    retry: known(retry) ? queued(retry) : undefined,
    dead: known(dead) ? queued(dead) : undefined,
    parked: known(parked) ? parked.ready : undefined,
  };
}

/** The sum of a metric, over all streams but "unknown", of one lane or of all. */
export const sumOf = (counts, name, lane) =>
  counts.sums
    .filter((row) => row[0] === name && row[1] !== "unknown" && (lane === undefined || row[2] === lane))
    .reduce((sum, row) => sum + row[3], 0);

/** Divides the accepted events into those that are stored, and those of each lane. */
export class Balance {
  #last = "";
  #changed = 0;

  take(counts, status, now) {
    const accepted = sumOf(counts, "Accepted");
    const stored = sumOf(counts, "Stored");
    const dead = Math.max(0, sumOf(counts, "Dead") - sumOf(counts, "Redriven"));
    const left = Math.max(0, accepted - stored - dead);
    const viaRetry = sumOf(counts, "Accepted", "retry") + sumOf(counts, "HandedOver") + sumOf(counts, "Redriven");
    const doneRetry = sumOf(counts, "Stored", "retry") + sumOf(counts, "Dead");
    const held = depths(status);
    // What was stored twice counts twice, and hides as many that wait: so the lanes are asked too.
    const retry = Math.max(Math.min(left, Math.max(0, viaRetry - doneRetry)), held.retry ?? 0);
    const parked = held.parked ?? 0;
    const main = Math.max(0, left - retry - parked, held.main ?? 0);
    const waits = [held.main, held.retry, held.parked].some((number) => number !== 0);
    const isUnread = left > 0 && Object.values(held).includes(undefined);
    const state = JSON.stringify([counts.sums, left]);
    if (state !== this.#last || waits) {
      this.#last = state;
      this.#changed = now;
    }
    const isLost = left > 0 && now - this.#changed > QUIET;
    const lost = isLost ? left : 0;
    const lanes = { main: isLost ? 0 : main, retry: isLost ? 0 : retry, dead, parked };
    const others = Object.values(lanes).reduce((sum, number) => sum + number, lost);
    return {
      accepted,
      parts: { stored: Math.max(0, accepted - others), ...lanes },
      lost,
      isUnread,
      redelivered: Math.max(0, stored + dead - accepted),
    };
  }
}
