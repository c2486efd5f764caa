// How far the room is read: the user's mark moves to the newest message that is on the screen.

const READ_AFTER = 400; // milliseconds

export class ReadMark {
  #marked = "";
  #timer;

  /** `ask(upTo)` moves the mark, and `moved(readTo)` is called with where it is then. */
  constructor({ ask, moved }) {
    Object.assign(this, { ask, moved });
  }

  /** The message with this key is seen. */
  move(key) {
    if (key <= this.#marked) {
      return;
    }
    this.stop();
    this.#timer = setTimeout(async () => {
      try {
        this.#marked = key;
        const { readTo } = await this.ask(key);
        this.moved(readTo);
      } catch {
        this.#marked = ""; // with the next message
      }
    }, READ_AFTER);
  }

  stop() {
    clearTimeout(this.#timer);
  }
}
