/** The page: the list of rooms, and the open room beside it. On a phone, one of them. */
import { useState } from "preact/hooks";

import { type Chat, type Conversation, messageOf } from "./chat.js";
import { Avatar, clock, titleOf } from "./parts.js";
import { RoomView } from "./room-view.js";

const dayOrTime = (time: string): string =>
  new Date(time).toDateString() === new Date().toDateString()
    ? clock(time)
    : new Date(time).toLocaleDateString([], { day: "numeric", month: "short" });

function Line({ conversation, chat }: { conversation: Conversation; chat: Chat }) {
  const { roomId, lastMessage: last, unread, unreadCapped, activityAt, membership } = conversation;
  const title = titleOf(conversation, chat.user);
  const count = `${unread}${unreadCapped ? "+" : ""}`;
  const files = last?.attachments?.map(({ name }) => name).join(", ");
  const text = last?.deletedAt ? "deleted" : last?.messageType === "TEXT" ? last.message || files : "";
  return (
    <li>
      <a class={`line ${unread > 0 ? "unread" : ""}`} href={`#/rooms/${encodeURIComponent(roomId)}`} aria-current={chat.room?.id === roomId ? "page" : undefined}>
        <Avatar name={title} id={roomId} />
        <b><bdi>{title}</bdi></b>
        <time dateTime={activityAt}>{dayOrTime(activityAt)}</time>
        <span class="preview">{membership.state === "in" ? last && text && `${last.userId === chat.user ? "You" : last.username}: ${text}` : "You left"}</span>
        {unread > 0 && <span class="badge" aria-label={`${count} unread`}>{count}</span>}
      </a>
    </li>
  );
}

function Join({ chat }: { chat: Chat }) {
  const [name, setName] = useState("");
  const [kind, setKind] = useState<"open" | "members">("open");
  const submit = (event: Event) => {
    event.preventDefault();
    setName("");
    void chat.join(name.trim(), kind);
  };
  return (
    <form class="join" onSubmit={submit}>
      <input value={name} onInput={(event) => setName(event.currentTarget.value)} placeholder="Room to join or create" aria-label="Name of a room" required maxLength={128} />
      <select value={kind} onChange={(event) => setKind(event.currentTarget.value as typeof kind)} aria-label="Who may join">
        <option value="open">open to everybody</option>
        <option value="members">by invitation</option>
      </select>
      <button>Go</button>
    </form>
  );
}

function Invitations({ chat }: { chat: Chat }) {
  return (
    <ul class="invitations" aria-label="Invitations">
      {chat.invitations.map((invitation) => (
        <li key={invitation.roomId}>
          <span><bdi>{invitation.createdBy}</bdi> invites you to <b><bdi>{titleOf(invitation, chat.user)}</bdi></b></span>
          <button class="primary" onClick={() => void chat.try(() => chat.accept(invitation.roomId))}>Accept</button>
          <button onClick={() => void chat.leave(invitation.roomId)}>Decline</button>
        </li>
      ))}
    </ul>
  );
}

export function App({ chat }: { chat: Chat }) {
  const { session, conversations, room } = chat;
  return (
    <div class={`app ${room ? "in-room" : ""}`}>
      <nav aria-label="Rooms">
        <header>
          <Avatar name={session.username} id={chat.user} />
          <span class="me"><b><bdi>{session.username}</bdi></b><small class={chat.isOnline ? "online" : "offline"}>{chat.isOnline ? "online" : "connecting …"}</small></span>
          <button class="quiet" onClick={() => session.signOut()}>Sign out</button>
        </header>
        <Join chat={chat} />
        {chat.invitations.length > 0 && <Invitations chat={chat} />}
        <ul class="lines">{conversations.map((each) => <Line key={each.roomId} conversation={each} chat={chat} />)}</ul>
        {chat.isLoaded && conversations.length === 0 && <p class="empty">You are in no room yet. Join one by its name, or create it.</p>}
        {session.username !== chat.user && <p class="note">Others invite you by your id: <code>{chat.user}</code></p>}
      </nav>
      <main>
        {chat.error !== undefined && (
          <p class="error" role="alert">
            {messageOf(chat.error)} <button class="quiet" aria-label="Close" onClick={() => { chat.error = undefined; chat.changed(); }}>✕</button>
          </p>
        )}
        {room ? <RoomView key={room.id} room={room} /> : <p class="empty">Choose a room.</p>}
      </main>
    </div>
  );
}
