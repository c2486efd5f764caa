// Who follows the open room now. Nothing is pushed about it, so it is asked for while the page is looked at.

const FIRST = 1_000; // milliseconds: this page follows the room by then
const EVERY = 15_000;
const AT_MOST_EVERY = 4_000; // after messages
const OLD = 720_000; // a client sends a check at least every nine minutes: after this, it has probably gone

export class Online {
  /** By user id: `{ userId, connections, isSure }`. Empty before the first answer, and where one may not ask. */
  users = new Map();
  /** Whether there are more users than these. */
  hasMore = false;
  #timer;
  #turn = 0;
  #asked = 0;

  /** `ask()` reads GET /rooms/{roomId}/online; it resolves to undefined where one may not. */
  constructor({ ask, changed }) {
    Object.assign(this, { ask, changed });
  }

  /** Ask soon, and then now and again until `stop`. */
  begin() {
    this.#asked = Date.now();
    this.#wait(FIRST);
  }

  /** A live message: if somebody came or went, ask before the next turn. */
  message({ userId, messageType }) {
    const isNews = messageType !== "TEXT" || !this.users.has(userId);
    if (isNews && Date.now() - this.#asked > AT_MOST_EVERY) {
      this.begin();
    }
  }

  stop() {
    clearTimeout(this.#timer);
    this.#turn += 1;
  }

  async look() {
    this.stop();
    const mine = this.#turn;
    if (document.visibilityState === "visible") {
      await this.ask().then((answer) => mine === this.#turn && this.#take(answer), () => {}); // the next one can work
    }
    if (mine === this.#turn) {
      this.#wait(EVERY);
    }
  }

  #wait(milliseconds) {
    this.stop();
    this.#timer = setTimeout(() => this.look(), milliseconds);
  }

  #take({ items, hasMore } = { items: [], hasMore: false }) {
    const oldest = new Date(Date.now() - OLD).toISOString();
    this.users = new Map(items.map((each) => [each.userId, { ...each, isSure: !(each.checkedAt < oldest) }]));
    this.hasMore = hasMore;
    this.changed();
  }

  /** How many are there for sure. */
  get count() {
    return [...this.users.values()].filter(({ isSure }) => isSure).length;
  }
}
