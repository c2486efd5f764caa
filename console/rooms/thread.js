// A thread: a message, and the replies to it, also those that are not loaded in the room.
import { html, useLayoutEffect } from "../htm.js";
import { count } from "../texts.js";
import { Failure, Loading } from "../ui.js";
import { dayAndTime, moment } from "./format.js";
import { History } from "./history.js";
import { Avatar, Text } from "./message.js";
import { texts } from "./texts.js";

const PAGE = 100;
const MESSAGES = "GET /rooms/{roomId}/messages";

export class Thread {
  /** The message; undefined while it is read, and null where it is not there, or not for this reader. */
  first;
  /** Why it was not read. */
  error;
  isLoaded = false;

  /** `history` is what is loaded of the room. */
  constructor({ client, user, roomId, key, history, changed }) {
    Object.assign(this, { client, roomId, key, changed, first: history.rowOf(key)?.item, replies: new History(user) });
    this.replies.begin({ items: [], next: null, previous: "" }, false);
    history.stored.forEach(({ item }) => this.message(item)); // the newest ones are not in the index of replies yet
    this.read();
  }

  /** Read the message and its first replies, or the next ones. */
  async read() {
    const { roomId, key, replies } = this;
    this.error = undefined;
    try {
      if (this.first === undefined) {
        const { items } = await this.client.request(MESSAGES, { roomId, around: key, limit: 1 });
        this.first ??= items.find((item) => item.key === key) ?? null;
      }
      const after = replies.newer || undefined;
      const { items, hasMore, next } = await this.client.request(`${MESSAGES}/{key}/replies`, { roomId, key, after, limit: PAGE });
      replies.addNewer({ items, hasMore, previous: next });
      this.isLoaded = true;
    } catch (error) {
      this.error = error;
    }
    this.changed();
  }

  /** A live message of the room. */
  message(item) {
    if (item.key === this.key) {
      this.first = item;
    } else if (item.replyTo === this.key) {
      this.replies.message(item);
    }
  }
}

const OVER = "(max-width: 1100px)"; // here the panel is over the room

function Said({ item, show, room }) {
  return html`
    <li>
      <${Avatar} id=${item.userId} name=${item.username} />
      <div>
        <p class="name"><b><bdi>${item.username}</bdi></b>
          <button type="button" class="quiet" title=${moment(item.timestamp)} aria-label=${texts.showInRoom(dayAndTime(item.timestamp))}
            onClick=${() => show(item.key)}><time dateTime=${item.timestamp}>${dayAndTime(item.timestamp)}</time></button></p>
        <${Text} item=${item} room=${room} />
        ${item.reactions !== undefined && html`
          <p class="note">${Object.entries(item.reactions).map(([value, n]) => html`<bdi>${value}</bdi> ${count(n)} `)}</p>
        `}
      </div>
    </li>
  `;
}

/** `close` closes the panel. */
export function ThreadPanel({ room, close }) {
  const { thread } = room;
  const { first, replies, error, isLoaded } = thread;
  const leave = () => matchMedia(OVER).matches && close();
  const show = (key) => {
    leave();
    room.show(key);
  };
  const answer = () => {
    leave();
    room.acts.answer({ item: first });
  };
  useLayoutEffect(() => document.getElementById("thread-title").focus(), [thread]);
  return html`
    <aside class="panel" aria-labelledby="thread-title">
      <div class="bar">
        <h3 id="thread-title" tabindex="-1">${texts.thread}</h3>
        <button type="button" class="quiet" aria-label=${texts.closeThread} onClick=${close}>✕</button>
      </div>
      <div class="scrolls" tabindex="0" role="region" aria-labelledby="thread-title">
        <ul class="people">
          ${first && html`<${Said} item=${first} show=${show} room=${room} />`}
          ${first === null && html`<li class="note">${texts.noFirst}</li>`}
        </ul>
        <h4>${texts.replies}</h4>
        <ul class="people">${replies.stored.map(({ id, item }) => html`<${Said} key=${id} item=${item} show=${show} room=${room} />`)}</ul>
        ${error !== undefined && html`<${Failure} error=${error} again=${() => thread.read()} />`}
        ${error === undefined && !isLoaded && html`<${Loading} />`}
        ${isLoaded && replies.stored.length === 0 && html`<p class="note">${texts.noReplies}</p>`}
        ${isLoaded && !replies.hasEnd && error === undefined && html`<button type="button" onClick=${() => thread.read()}>${texts.moreReplies}</button>`}
        ${first && room.canWrite && html`<button type="button" class="primary" onClick=${answer}>${texts.reply}</button>`}
      </div>
    </aside>
  `;
}
