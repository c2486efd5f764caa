/** A message: its text, files and reactions, and what one can do with it. */
import type { AttachmentItem, Message } from "headrace-client";
import { useEffect, useRef, useState } from "preact/hooks";

import { Avatar, clock, focused } from "./parts.js";
import { addressOf, type Room } from "./room.js";

const CHOICES = ["👍", "❤️", "😂", "🎉", "👀"];
const SHOWN = /^image\/(png|jpeg|gif|webp)$/;

const size = (bytes: number): string => (bytes < 1000 ? `${bytes} B` : bytes < 1e6 ? `${Math.round(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);

/** The files of a message. A live message has no addresses, and each address is good for ten minutes. */
function Files({ message, room }: { message: Message; room: Room }) {
  const given = message.attachments ?? [];
  const [fresh, setFresh] = useState<AttachmentItem[]>();
  const isMissing = given.some((file) => addressOf(file) === undefined);
  const renew = async () => {
    const files = await room.chat.client.attachments(room.id, message.key);
    setFresh(files);
    return files;
  };
  useEffect(() => {
    isMissing && fresh === undefined && void renew().catch(() => {}); // a click asks again, and tells
  }, [isMissing]);
  const open = (event: Event, id: string) => {
    event.preventDefault();
    void room.chat.try(async () => {
      const url = (await renew()).find((file) => file.id === id)?.url;
      url && window.open(url, "_blank", "noreferrer");
    });
  };
  return (
    <ul class="files">
      {given.map((file) => {
        const url = addressOf(fresh?.find(({ id }) => id === file.id) ?? file);
        return (
          <li key={file.id}>
            <a href={url ?? "#"} onClick={(event) => open(event, file.id)}>
              {SHOWN.test(file.type) && url ? <img src={url} alt={file.name} /> : <span class="file"><bdi>{file.name}</bdi> <small>{size(file.bytes)}</small></span>}
            </a>
          </li>
        );
      })}
    </ul>
  );
}

function Edit({ message, room, done }: { message: Message; room: Room; done: () => void }) {
  const [text, setText] = useState(message.message);
  const save = (event: Event) => {
    event.preventDefault();
    text.trim() !== "" && text.trim() !== message.message && void room.edit(message, text.trim());
    done();
  };
  const pressed = (event: KeyboardEvent) => {
    event.key === "Enter" && !event.shiftKey && !event.isComposing && save(event);
    event.key === "Escape" && done();
  };
  return (
    <form class="edit" onSubmit={save}>
      <textarea value={text} rows={2} maxLength={4096} aria-label="New text" ref={focused} onKeyDown={pressed} onInput={({ currentTarget }) => setText(currentTarget.value)} />
      <button class="primary">Save</button>
      <button type="button" class="quiet" onClick={done}>Cancel</button>
    </form>
  );
}

function Reactions({ message, room }: { message: Message; room: Room }) {
  const mine = room.reaction(message);
  const chips = Object.entries(message.reactions ?? {});
  return (
    <p class="reactions">
      {chips.map(([value, count]) => (
        <button key={value} aria-pressed={value === mine || undefined} aria-label={`${value}, ${count}`} onClick={() => void room.react(message, value)}>{value} {count}</button>
      ))}
    </p>
  );
}

function Actions({ message, room, isOwn, edit }: { message: Message; room: Room; isOwn: boolean; edit: () => void }) {
  return (
    <div class="actions" role="group" aria-label="What to do with the message">
      {CHOICES.map((value) => <button key={value} class="quiet" aria-label={`React with ${value}`} onClick={() => void room.react(message, value)}>{value}</button>)}
      {isOwn && <button class="quiet" onClick={edit}>Edit</button>}
      {isOwn && <button class="quiet danger" onClick={() => confirm("Delete this message for everybody?") && void room.delete(message)}>Delete</button>}
    </div>
  );
}

const NOTICES: Record<string, string> = { JOIN: "joined", LEAVE: "left" };

interface Shown {
  message: Message;
  room: Room;
  /** Whether it begins with its author and time. */
  hasHead: boolean;
}

export function MessageView({ message, room, hasHead }: Shown) {
  const [isEdited, setEdited] = useState(false);
  const item = useRef<HTMLLIElement>(null);
  const { userId, username, timestamp, messageType, deletedAt, editedAt } = message;
  if (messageType !== "TEXT") {
    return <li class="notice"><bdi>{message.memberName ?? username}</bdi> {NOTICES[messageType]} <time dateTime={timestamp}>{clock(timestamp)}</time></li>;
  }
  const isOwn = userId === room.chat.user;
  const done = () => {
    setEdited(false);
    item.current?.focus(); // what had the focus goes
  };
  return (
    <li class={`message ${hasHead ? "head" : ""}`} tabIndex={-1} ref={item}>
      {hasHead && <Avatar name={username} id={userId} />}
      {hasHead && <p><b><bdi>{username}</bdi></b> <time dateTime={timestamp}>{clock(timestamp)}</time></p>}
      <div class="body">
        {isEdited
          ? <Edit message={message} room={room} done={done} />
          : <p class="text" dir="auto">{deletedAt ? <i>deleted</i> : message.message}{editedAt && !deletedAt && <small> (edited)</small>}</p>}
        {!deletedAt && message.attachments && <Files message={message} room={room} />}
        {!deletedAt && message.reactions && <Reactions message={message} room={room} />}
      </div>
      {!deletedAt && !isEdited && <Actions message={message} room={room} isOwn={isOwn} edit={() => setEdited(true)} />}
    </li>
  );
}
