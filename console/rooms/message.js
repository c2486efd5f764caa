// A row of a room: a message with its sender and its tick, or a notice of a join or leave.
import { html } from "../htm.js";
import { Attachments } from "./attachments.js";
import { Changes } from "./changes.js";
import { clock, dayAndTime, dayName, moment, sameDay } from "./format.js";
import { Reactions } from "./reactions.js";
import { texts } from "./texts.js";

const TOGETHER = 300_000; // milliseconds between messages of one sender that have one heading
const BRIEF = 200; // characters of a message that a reply shows
const COLORS = 8;
const BACK = "↩"; // a value: see Kept
const MARKS = { sending: "○", accepted: "✓", stored: "✓✓" };

/** A letter on a color, another one for each user. */
export function Avatar({ id, name }) {
  const sum = [...id].reduce((hash, letter) => (hash * 31 + letter.codePointAt(0)) >>> 0, 7);
  return html`<span class=${`avatar color-${sum % COLORS}`} aria-hidden="true">${[...name][0]?.toLocaleUpperCase()}</span>`;
}

function isTogether(row, before) {
  return before !== undefined && before.item.messageType === "TEXT" && before.item.userId === row.item.userId
    && Date.parse(row.item.timestamp) - Date.parse(before.item.timestamp) < TOGETHER;
}

function Tick({ row, room }) {
  const { tick = { state: "stored" } } = row;
  const { state, lane } = tick;
  if (state === "failed") {
    return html`
      <span class="tick failed" role="alert">
        <span aria-hidden="true">✕</span> ${texts.tick.failed(tick.error.message)}
        <button type="button" onClick=${() => room.sending.again(row)}>${texts.sendAgain}</button>
        <button type="button" onClick=${() => room.sending.discard(row)}>${texts.discard}</button>
      </span>
    `;
  }
  const took = tick.acceptedAt === undefined ? undefined : texts.took(tick.acceptedAt - tick.sentAt);
  // Of messages that this page did not send, the lane is not known: the mark is enough.
  const isPlain = state === "stored" && lane === undefined;
  return html`
    <span class=${`tick ${state} ${isPlain ? "plain" : (lane ?? "")}`} title=${took}>
      <span aria-hidden="true">${MARKS[state]}</span> <span class=${isPlain ? "hidden" : ""}>${texts.tick[state](lane)}</span>
    </span>
  `;
}

/** Who did what, for a JOIN or LEAVE: its user did it, and `memberId` is the member. */
function notice({ messageType, userId, username, memberId, memberName }) {
  const isOwn = memberId === undefined || memberId === userId;
  return isOwn
    ? texts.notices[messageType](username)
    : texts.noticesByOther[messageType](memberName ?? memberId, username);
}

/** A text of another message in one line. */
export const brief = ({ username, message, deletedAt }) =>
  `${username}: ${deletedAt ? texts.deletedBy() : message.slice(0, BRIEF)}`;

/** Which message a reply answers: its text if it is loaded, else its time. */
function Answered({ to, room }) {
  const item = room.history.rowOf(to)?.item;
  const text = item === undefined ? texts.toMessageOf(dayAndTime(to.split("#")[0])) : brief(item);
  return html`
    <button type="button" class="answered" title=${texts.openThread} onClick=${() => room.openThread(to)}>
      <span aria-hidden="true">${BACK}</span> <span class="hidden">${texts.answers}</span> <span dir="auto">${text}</span>
    </button>
  `;
}

/** The text of a message and its files, or that it is deleted. */
export const Text = ({ item, isHidden, room }) => html`
  ${item.deletedAt
    ? html`<p class="text stub" title=${moment(item.deletedAt)}>${texts.deletedBy(item.deletedBy === item.userId ? undefined : item.deletedBy)}</p>`
    : html`<p class="text" dir="auto" hidden=${isHidden}>${item.message}</p><${Attachments} item=${item} room=${room} />`}
  ${item.editedAt && !item.deletedAt && html`<span class="note" title=${moment(item.editedAt)}>${texts.edited}</span>`}
`;

function Message({ row, before, isShown, room }) {
  const { item } = row;
  const isOwn = item.userId === room.user;
  const heads = !isTogether(row, before);
  const acting = room.acts.now?.row === row ? room.acts.now : undefined;
  return html`
    <div class=${`message ${heads ? "heads" : ""} ${isOwn ? "own" : ""} ${isShown ? "shown" : ""}`}>
      ${heads
        ? html`<${Avatar} id=${item.userId} name=${item.username} />`
        : html`<time class="aside" dateTime=${item.timestamp}>${clock(item.timestamp)}</time>`}
      <div>
        ${heads
          ? html`<p class="who"><bdi>${item.username}</bdi> <time dateTime=${item.timestamp} title=${moment(item.timestamp)}>${clock(item.timestamp)}</time></p>`
          : html`<p class="hidden">${item.username}</p>`}
        ${item.replyTo && html`<${Answered} to=${item.replyTo} room=${room} />`}
        <${Text} item=${item} isHidden=${acting?.what === "edit"} room=${room} />
        <${Reactions} row=${row} room=${room}>
          ${room.history.isAnswered(item.key) && html`
            <button type="button" class="replies" onClick=${() => room.openThread(item.key)}>${texts.showReplies}</button>
          `}
        <//>
        <${Changes} row=${row} room=${room} acting=${acting} />
      </div>
      ${isOwn && html`<${Tick} row=${row} room=${room} />`}
    </div>
  `;
}

/**
 * `before` is the row above, and `line` says that the line of unread messages is between them. `isShown` marks the row.
 */
export function Row({ row, before, line, isShown, room }) {
  const { item } = row;
  const isNewDay = before === undefined || !sameDay(Date.parse(before.item.timestamp), Date.parse(item.timestamp));
  return html`
    <li>
      ${isNewDay && html`<p class="day"><time dateTime=${item.timestamp}>${dayName(item.timestamp)}</time></p>`}
      ${line && html`<p class="line"><span>${texts.line}</span></p>`}
      ${item.messageType === "TEXT"
        ? html`<${Message} row=${row} before=${isNewDay || line ? undefined : before} isShown=${isShown} room=${room} />`
        : html`<p class="notice"><span dir="auto">${notice(item)}</span> <time dateTime=${item.timestamp}>${clock(item.timestamp)}</time></p>`}
    </li>
  `;
}
