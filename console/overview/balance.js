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

/**
 * Divides `left`, the accepted events that are neither stored nor dead. A lane takes at most what is left, because it can
 * hold other events too. What no lane holds is on its way in the main lane; but where a lane was not read, that one may
 * hold it, and is `undefined`.
 */
function divide(left, held) {
  const lanes = {};
  let rest = left;
  for (const name of ["main", "retry", "parked"]) {
    lanes[name] = Math.min(rest, held[name] ?? 0);
    rest -= lanes[name];
  }
  const unread = Object.keys(lanes).filter((name) => held[name] === undefined);
  if (rest > 0 && unread.length > 0) {
    unread.forEach((name) => { lanes[name] = undefined; });
  } else {
    lanes.main += rest;
  }
  return lanes;
}

/** Divides the accepted events into those that are stored, and those of each lane. */
export class Balance {
  #last = "";
  #changed = 0;

  take(counts, status, now) {
    const accepted = sumOf(counts, "Accepted");
    const stored = sumOf(counts, "Stored");
    const dead = Math.min(accepted, Math.max(0, sumOf(counts, "Dead") - sumOf(counts, "Redriven")));
    const left = Math.max(0, accepted - stored - dead);
    const held = depths(status);
    const state = JSON.stringify(counts.sums);
    if (state !== this.#last || [held.main, held.retry, held.parked].some((number) => number !== 0)) {
      this.#last = state;
      this.#changed = now;
    }
    const lost = now - this.#changed > QUIET ? left : 0;
    const viaRetry = sumOf(counts, "Accepted", "retry") + sumOf(counts, "HandedOver") + sumOf(counts, "Redriven");
    const doneRetry = sumOf(counts, "Stored", "retry") + sumOf(counts, "Dead");
    // A status can be older than the counts, so the retry lane holds at least what these say.
    const heldByRetry = held.retry === undefined ? undefined : Math.max(held.retry, viaRetry - doneRetry);
    const { main, retry, parked } = divide(left - lost, { ...held, retry: heldByRetry });
    return {
      accepted,
      parts: { stored: accepted - dead - left, main, retry, dead, parked },
      lost,
      isUnread: [main, retry, parked].includes(undefined),
      redelivered: Math.max(0, stored + dead - accepted),
    };
  }
}
