// Requests about dead letters, one at a time.

const SHOWN = 200;
/** Milliseconds of temporary errors, after which the operator decides. */
const PATIENCE = 5_000;
const DAY = 86_400_000;

/** A filter as the parameters of the API; `day` is a day of UTC, such as "2026-11-20". */
export function queryOf({ id, stream, reason, day } = {}) {
  const next = day && new Date(Date.parse(day) + DAY).toISOString();
  const query = { id, stream, reason, from: day && `${day}T00:00:00Z`, to: next };
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value));
}

export const isEmpty = (filter) => Object.keys(queryOf(filter)).length === 0;

/** The newest request of this page, also of a view that was left. */
let last = Promise.resolve();

/**
 * The dead lane of a stage. To look at letters is to receive them from SQS, which hides them from every other request
 * until it ends: so a request waits until the one before has its answer.
 */
export class Letters {
  #client;

  constructor(client) {
    this.#client = client;
  }

  /** Some of the letters that match, and counts of all of them. */
  list(filter, limit = SHOWN) {
    return this.#ask("GET /dead-letters", { ...queryOf(filter), limit });
  }

  /** One letter, with its body: that is logged. */
  async open(id, bodies) {
    const { items } = await this.#ask("GET /dead-letters", { id, bodies });
    return items[0];
  }

  dryRun(operation, filter) {
    return this.#ask(`POST /dead-letters/${operation}`, { ...queryOf(filter), dryRun: true });
  }

  /** One slice of a redrive: its first, or the next one of a `continuation`. */
  redrive(filter, rate, continuation) {
    const body = continuation === undefined ? { ...queryOf(filter), rate } : { continuation };
    return this.#ask("POST /dead-letters/redrive", body);
  }

  discard(filter, confirm) {
    return this.#ask("POST /dead-letters/discard", { ...queryOf(filter), confirm });
  }

  /** How many letters wait in a lane, as GET /status says: about, and up to 2 seconds ago; `undefined` if unknown. */
  async waiting(lane) {
    const { lanes } = await this.#client.request("GET /status", {}, { retryTimeout: PATIENCE });
    const { waiting, inFlight, delayed, state } = lanes[lane];
    return state === "unknown" ? undefined : waiting + inFlight + delayed;
  }

  #ask(operation, parameters) {
    // A POST is sent once: the server has perhaps done it, also where no answer came.
    const answer = last.then(() => this.#client.request(operation, parameters, { retryTimeout: PATIENCE }));
    last = answer.catch(() => {});
    return answer;
  }
}
