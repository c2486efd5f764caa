// One's own messages of a room, and changes of messages: sent until each is accepted, and looked for until it is stored.
//
// They are kept in the tab until they are accepted: after a reload they are sent again, under their ids. A message with
// files is kept once they are uploaded.

const UNSEEN = 2_000; // milliseconds after which an accepted message that was not pushed is looked for

const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const name = (user) => `headrace.outbox.${user}`;
const outbox = (user) => JSON.parse(sessionStorage.getItem(name(user)) ?? "[]");
const save = (user, messages) => sessionStorage.setItem(name(user), JSON.stringify(messages));
const keep = (user, message) => save(user, [...outbox(user), message]);
const forget = (user, id) => save(user, outbox(user).filter((each) => each.id !== id));

export class Sending {
  #watches = false;

  /** `catchUp` reads what was stored meanwhile; `changed` is called when a tick has changed. */
  constructor({ client, user, roomId, history, catchUp, changed }) {
    Object.assign(this, { client, user, roomId, history, catchUp, changed });
  }

  /** Send what was not accepted when the page was left. */
  restore() {
    const kept = outbox(this.user).filter(({ roomId }) => roomId === this.roomId);
    kept.forEach((each) => this.again(this.history.send(each, this.user)));
  }

  /** Send a text and files; with `replyTo`, the key of a message, as a reply. */
  send(text, replyTo, files = []) {
    const message = { roomId: this.roomId, id: this.client.newId(), text, replyTo };
    if (files.length > 0) {
      message.attachments = files;
    } else {
      keep(this.user, message);
    }
    return this.again(this.history.send(message, this.user));
  }

  /** Send a message, also one that was refused: under the same id it is the same message. */
  async again(row) {
    row.tick = { state: "sending", sentAt: Date.now() };
    this.changed();
    try {
      const { message, replyTo, attachments } = row.item;
      await this.#upload(row);
      const { lane } = await this.client.send(this.roomId, message, { id: row.id, replyTo, attachments });
      forget(this.user, row.id);
      const state = row.tick.state === "stored" ? "stored" : "accepted";
      row.tick = { ...row.tick, state, lane, acceptedAt: Date.now() };
      this.watch();
    } catch (error) {
      if (row.tick.state !== "stored") {
        row.tick = { ...row.tick, state: "failed", error };
      }
    }
    this.changed();
  }

  /** Upload the files of a message that are not uploaded yet. Its id, which has its time, is made after that. */
  async #upload(row) {
    const { message, replyTo, attachments = [] } = row.item;
    const waiting = attachments.filter(({ file }) => file !== undefined);
    for (const each of waiting) {
      Object.assign(each, await this.client.upload(this.roomId, each.file), { file: undefined });
    }
    if (waiting.length > 0) {
      row.id = this.client.newId();
      keep(this.user, { roomId: this.roomId, id: row.id, text: message, replyTo, attachments });
    }
  }

  /** Edit a message, or delete it: without a text. A repeated request is the same change. */
  async change(row, message) {
    const operation = `${message === undefined ? "DELETE" : "PATCH"} /rooms/{roomId}/messages/{key}`;
    const parameters = { roomId: this.roomId, key: row.item.key, changeId: this.client.newId(), message };
    const { lane, timestamp } = await this.client.request(operation, parameters);
    if ((row.item.deletedAt ?? row.item.editedAt ?? "") < timestamp) {
      row.change = { lane, timestamp };
      this.watch();
    }
  }

  /** Take a message back that was not accepted. */
  discard(row) {
    this.history.discard(row);
    forget(this.user, row.id);
    this.changed();
  }

  /** Look for what was accepted until it is seen. While the broker is away, for example, it is not pushed. */
  async watch() {
    if (this.#watches) {
      return;
    }
    this.#watches = true;
    for (await sleep(UNSEEN); this.history.waits; await sleep(UNSEEN)) {
      await this.catchUp();
    }
    this.#watches = false;
  }
}
