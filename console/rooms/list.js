// The list of conversations and invitations.
import { html, useRef, useState } from "../htm.js";
import { Empty, Failure, Loading } from "../ui.js";
import { hrefOf } from "./conversations.js";
import { when } from "./format.js";
import { Avatar } from "./message.js";
import { StartRoom } from "./start.js";
import { texts } from "./texts.js";

const lock = () => html`<svg viewBox="0 0 16 16"><rect x="3" y="7" width="10" height="7" rx="1.5" /><path d="M5 7V5a3 3 0 0 1 6 0v2" /></svg>`;

/** The sign of a room: its kind, or the other user of a direct room. */
export function Sign({ of, title }) {
  return of.form === "direct"
    ? html`<${Avatar} id=${title} name=${title} />`
    : html`<span class="avatar sign" aria-hidden="true">${of.kind === "members" ? lock() : "#"}</span>`;
}

function preview({ lastMessage }, user) {
  if (lastMessage === null) {
    return texts.noMessages;
  }
  const { messageType, userId, username, message } = lastMessage;
  if (messageType !== "TEXT") {
    return texts.notices[messageType](lastMessage.memberName ?? username);
  }
  if (lastMessage.deletedAt) {
    return texts.deletedBy();
  }
  return userId === user ? texts.you(message) : `${username}: ${message}`;
}

function Conversation({ of, title, user, isOpen, tabindex }) {
  const { roomId, unread, unreadCapped, activityAt, membership } = of;
  const many = unreadCapped || unread > 99;
  return html`
    <li>
      <a href=${hrefOf(roomId)} tabindex=${tabindex} aria-current=${isOpen ? "page" : undefined}
        class=${`conversation ${unread > 0 ? "unread" : ""} ${membership.state === "left" ? "left" : ""}`}>
        <${Sign} of=${of} title=${title} />
        <b class="name"><bdi>${title}</bdi></b>
        <time dateTime=${activityAt}>${when(activityAt)}</time>
        <span class="preview" dir="auto">${preview(of, user)}</span>
        ${unread > 0 && html`
          <span class="badge"><span aria-hidden="true">${many ? "99+" : unread}</span><span class="hidden">${texts.unread(unread, many)}</span></span>
        `}
      </a>
    </li>
  `;
}

function Invitation({ of, answer }) {
  const [busy, setBusy] = useState(false);
  const answers = (accepts) => async () => {
    setBusy(true);
    await answer(of.roomId, accepts);
    setBusy(false);
  };
  const title = of.form === "direct" ? of.invitedBy : (of.name ?? of.roomId);
  return html`
    <li class="invitation">
      <${Sign} of=${of} title=${title} />
      <p><b><bdi>${title}</bdi></b><span class="note">${texts.invitedBy(of.invitedBy)}</span></p>
      <button type="button" class="primary" disabled=${busy} onClick=${answers(true)}>${texts.accept}</button>
      <button type="button" disabled=${busy} onClick=${answers(false)}>${texts.decline}</button>
    </li>
  `;
}

/** `answer(roomId, accepts)` accepts or declines an invitation. */
export function List({ conversations, roomId, answer }) {
  const { items, invitations, isLoaded, error, user } = conversations;
  const list = useRef(null);

  /** Up and down between conversations; the open one is where Tab enters the list. */
  const moved = (event) => {
    const links = [...list.current.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1 }[event.key];
    if (next !== undefined && at !== -1) {
      event.preventDefault();
      links[Math.max(0, Math.min(next, links.length - 1))].focus();
    }
  };
  const scrolled = (event) => {
    const { scrollHeight, scrollTop, clientHeight } = event.currentTarget;
    if (scrollHeight - scrollTop - clientHeight < 400) {
      conversations.more();
    }
  };
  const entry = items.some((each) => each.roomId === roomId) ? roomId : items[0]?.roomId;
  return html`
    <aside class="list" aria-label=${texts.conversations}>
      <div class="bar"><h2>${texts.conversations}</h2><${StartRoom} conversations=${conversations} /></div>
      <div class="scrolls" onScroll=${scrolled}>
        ${invitations.length > 0 && html`
          <h3>${texts.invitations}</h3>
          <ul>${invitations.map((each) => html`<${Invitation} key=${each.roomId} of=${each} answer=${answer} />`)}</ul>
        `}
        ${error !== undefined && html`<${Failure} error=${error} again=${() => conversations.refresh()} />`}
        ${!isLoaded && error === undefined && html`<${Loading} />`}
        ${isLoaded && items.length === 0 && html`
          <${Empty} title=${texts.none}><a href=${hrefOf("lobby")}>${texts.openLobby}</a><//>
        `}
        <ul ref=${list} onKeyDown=${moved} aria-label=${texts.conversations}>
          ${items.map((each) => html`
            <${Conversation} key=${each.roomId} of=${each} title=${conversations.title(each)} user=${user}
              isOpen=${each.roomId === roomId} tabindex=${each.roomId === entry ? 0 : -1} />
          `)}
        </ul>
        ${!conversations.complete && html`<p class="note">${texts.incomplete}</p>`}
      </div>
    </aside>
  `;
}
