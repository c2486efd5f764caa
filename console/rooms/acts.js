// What a reader does with the messages of a room: edits, deletes and answers them, and reacts to them.
import { counts } from "./history.js";

const MESSAGE = "/rooms/{roomId}/messages/{key}";
const PAGE = 200;

export class Acts {
  /** What is open: `{ row, what }` and more; `what` is "menu", "edit", "delete", "versions" or "reactions". */
  now;
  /** The row of the message that is answered. */
  answered;
  #glances = Promise.resolve();

  /** `go(row)` brings a row to the screen, and `changed` is called when something else is to be shown. */
  constructor({ client, user, roomId, history, sending, go, changed }) {
    Object.assign(this, { client, user, roomId, history, sending, go, changed });
  }

  /** Begin to do something with a message, or end it: without `what`. */
  open(row, what, more) {
    this.now = what && { row, what, ...more };
    this.changed();
  }

  /** Edit a message, or delete it: without a text. */
  async changeText(row, text) {
    const { what } = this.now;
    this.open(row, what, { text, isBusy: true });
    try {
      await this.sending.change(row, text);
      this.open();
    } catch (error) {
      this.open(row, what, { text, error });
    }
  }

  /** The texts that a message had. */
  async versions(row) {
    this.open(row, "versions");
    try {
      const { items } = await this.client.request(`GET ${MESSAGE}/versions`, { roomId: this.roomId, key: row.item.key });
      this.open(row, "versions", { items });
    } catch (error) {
      this.open(row, "versions", { error });
    }
  }

  /** Edit one's newest message, if it is loaded. */
  editLast() {
    const row = this.history.lastOwn;
    if (row !== undefined) {
      this.go(row);
      this.open(row, "edit", { text: row.item.message });
    }
  }

  /** Answer a message with the next one, or no message: without a row. */
  answer(row) {
    this.answered = row;
    this.open();
  }

  /** One's own reaction to a message, as far as it is known. */
  reactionTo({ reactors = [] }) {
    return reactors.find(({ userId }) => userId === this.user)?.value;
  }

  /** Read who reacted to a message, if it is not known. */
  async look(row) {
    row.looks ??= this.#look(row).finally(() => { row.looks = undefined; });
    return row.looks;
  }

  /** The same, one message after the other: for those that are on the screen. */
  glance(row) {
    this.#glances = this.#glances.then(() => this.look(row)).catch(() => {}); // a click tells
  }

  async #look(row) {
    const { key, reactionsAt } = row.item;
    if (row.reaction === undefined && (reactionsAt === undefined || reactionsAt === row.lookedAt)) {
      row.reactors ??= []; // without a time, nobody ever did
      return;
    }
    const reactors = [];
    for await (const { items } of this.client.pages(`GET ${MESSAGE}/reactions`, { roomId: this.roomId, key, limit: PAGE })) {
      reactors.push(...items);
    }
    row.lookedAt = reactionsAt;
    const own = reactors.find(({ userId }) => userId === this.user);
    const { value, timestamp } = row.reaction ?? {};
    if (value === undefined ? own === undefined : own?.timestamp >= timestamp) {
      row.reaction = undefined;
    }
    this.#know(row, reactors, row.reaction);
  }

  /** Keep who reacted to a message, with one's own reaction that is accepted. */
  #know(row, reactors, reaction) {
    const others = reactors.filter(({ userId }) => userId !== this.user);
    const own = reaction?.value === undefined ? [] : [{ userId: this.user, ...reaction }];
    row.reactors = reaction === undefined ? reactors : [...others, ...own];
    this.changed();
  }

  /** React to a message; a value that is one's reaction is taken back. */
  async react(row, value) {
    try {
      await this.look(row);
      const given = { roomId: this.roomId, key: row.item.key, changeId: this.client.newId() };
      const isBack = this.reactionTo(row) === value;
      const { lane, timestamp } = isBack
        ? await this.client.request(`DELETE ${MESSAGE}/reaction`, given)
        : await this.client.request(`PUT ${MESSAGE}/reaction`, { ...given, value });
      const reaction = { value: isBack ? undefined : value, lane, timestamp };
      row.reaction = counts(row.item, reaction) ? undefined : reaction;
      this.#know(row, row.reactors, reaction);
      this.sending.watch();
      this.open();
    } catch (error) {
      this.open(row, "reactions", { error });
    }
  }

  /** Look whether accepted reactions are stored. */
  async settle() {
    for (const row of this.history.stored) {
      if (row.reaction !== undefined) {
        await this.look(row).catch(() => {}); // the next round looks again
      }
    }
  }
}
