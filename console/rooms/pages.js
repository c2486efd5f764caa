// Pages of a room's history: older and newer ones beside the loaded part, and the one around a message.

const PAGE = 200;
/** By the name of a direction: the parameter that asks for it, and the method of History that takes the page. */
const DIRECTIONS = { older: ["before", "addOlder"], newer: ["after", "addNewer"] };

export class Pages {
  /** Why "older", "newer" or "around" was not read. */
  failure = {};
  #reading = {};
  #turn = 0;

  /** `ask(query)` reads a page of the room. */
  constructor({ ask, history, changed }) {
    Object.assign(this, { ask, history, changed });
  }

  /** Forget what is being read. Returns a function that says whether nothing else was begun since then. */
  begin() {
    const mine = ++this.#turn;
    this.failure = {};
    this.#reading = {};
    return () => mine === this.#turn;
  }

  /** Read again after a failure. */
  retry() {
    this.failure = {};
    this.changed();
  }

  /** Read the next page of a direction, unless there is none, or it is being read, or has failed. */
  async read(name) {
    const cursor = this.history[name];
    if (cursor === null || this.#reading[name] || this.failure[name]) {
      return;
    }
    const [mine, reading] = [this.#turn, this.#reading];
    const [parameter, take] = DIRECTIONS[name];
    reading[name] = true;
    let page;
    let error;
    try {
      page = await this.ask({ [parameter]: cursor, limit: PAGE });
    } catch (failed) {
      error = failed;
    }
    if (mine === this.#turn) {
      reading[name] = false;
      if (error === undefined) {
        this.history[take](page);
      } else {
        this.failure = { ...this.failure, [name]: error };
      }
      this.changed();
    }
  }

  /** Begin with the page around a message key or a cursor; `then` is called when it is loaded. */
  async around(around, then) {
    const isMine = this.begin();
    try {
      const page = await this.ask({ around, limit: PAGE });
      if (isMine()) {
        this.history.begin(page, false);
        then();
      }
    } catch (error) {
      if (isMine()) {
        this.failure = { around: error };
      }
    }
    this.changed();
  }
}
