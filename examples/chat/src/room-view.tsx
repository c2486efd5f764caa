/** The open room: its messages, the gap, and the form that sends. */
import { Fragment } from "preact";
import { useRef, useState } from "preact/hooks";

import { isAfter } from "./chat.js";
import { MessageView } from "./message.js";
import { Avatar, clock, focused, titleOf } from "./parts.js";
import type { Gap, Outgoing, Room } from "./room.js";

const LARGEST = 10_000_000; // bytes of a file
const MOST = 10; // files of a message
const NEAR = 400; // pixels before the top where older messages are asked for
const TOGETHER = 300_000; // milliseconds in which messages of one person have one heading

const STATES: Record<Outgoing["state"], string> = {
  sending: "sending …",
  accepted: "✓ accepted",
  later: "✓ accepted, stored a little later",
  failed: "not sent",
};

function Sending({ message, room }: { message: Outgoing; room: Room }) {
  return (
    <li class={`outgoing ${message.state}`}>
      <p class="text">{message.text}</p>
      {message.files.map(({ name }) => <span class="file" key={name}>{name}</span>)}
      <small role="status">{STATES[message.state]}{message.error && `: ${message.error}`}</small>
      {message.state === "failed" && (
        <>
          <button onClick={() => void room.deliver(message)}>Send again</button>
          <button class="quiet" onClick={() => room.discard(message)}>Discard</button>
        </>
      )}
    </li>
  );
}

function GapLine({ gap }: { gap: Gap }) {
  if (gap.isClosed) {
    const missed = gap.missed === 1 ? "1 message" : `${gap.missed} messages`;
    return <li class="rule closed"><span>{missed} came while you were not connected</span></li>;
  }
  return <li class="rule gap" role="status"><span>Not connected since {clock(gap.from)}. What others write comes when you are back.</span></li>;
}

function Log({ room }: { room: Room }) {
  const { chat, messages, gap, newFrom } = room;
  const firstNew = messages.find(({ key, userId, messageType }) => newFrom !== undefined && userId !== chat.user && messageType === "TEXT" && isAfter(key, newFrom));
  const gapAt = gap?.isClosed ? messages.findIndex(({ key }) => key > gap.after) : -1;
  const scrolled = ({ currentTarget: { scrollTop, scrollHeight, clientHeight } }: { currentTarget: HTMLElement }) => {
    if (scrollHeight - clientHeight + scrollTop < NEAR) { // the log is reversed: 0 is the newest message
      void room.older();
    }
  };
  return (
    <div class="log" onScroll={scrolled} tabIndex={0} role="log" aria-label="Messages">
      <ol>
        {room.hasOlder && <li class="rule"><button class="quiet" onClick={() => void room.older()}>Earlier messages</button></li>}
        {room.isLoaded && messages.length === 0 && <li class="empty">Nothing was written here yet.</li>}
        {messages.map((message, at) => {
          const before = messages[at - 1];
          const day = new Date(message.timestamp).toDateString();
          const isNewDay = !before || new Date(before.timestamp).toDateString() !== day;
          const isClose = before && Date.parse(message.timestamp) - Date.parse(before.timestamp) < TOGETHER;
          const isSame = isClose && !isNewDay && before.userId === message.userId && before.messageType === "TEXT" && message !== firstNew;
          return (
            <Fragment key={message.key}>
              {isNewDay && <li class="rule"><span>{new Date(message.timestamp).toLocaleDateString([], { weekday: "long", day: "numeric", month: "long" })}</span></li>}
              {message === firstNew && <li class="rule new"><span>New</span></li>}
              {gap && at === gapAt && <GapLine gap={gap} />}
              <MessageView message={message} room={room} hasHead={!isSame} />
            </Fragment>
          );
        })}
        {room.outgoing.map((message) => <Sending key={message.id} message={message} room={room} />)}
        {gap && gapAt < 0 && <GapLine gap={gap} />}
      </ol>
    </div>
  );
}

function Composer({ room }: { room: Room }) {
  const [text, setText] = useState("");
  const [files, setFiles] = useState<File[]>([]);
  const chooser = useRef<HTMLInputElement>(null);
  const submit = (event: Event) => {
    event.preventDefault();
    if (text.trim() !== "" || files.length > 0) {
      void room.send(text.trim(), files);
      setText("");
      setFiles([]);
    }
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      submit(event);
    }
  };
  const add = (more: Iterable<File>) => {
    const all = [...files, ...more];
    const kept = all.filter(({ size }) => size > 0 && size <= LARGEST).slice(0, MOST);
    setFiles(kept);
    if (kept.length < all.length) {
      room.chat.error = "A message has up to 10 files of 1 byte to 10 MB.";
      room.chat.changed();
    }
  };
  return (
    <form class="composer" onSubmit={submit}>
      {files.length > 0 && (
        <ul class="chosen" aria-label="Files to send">
          {files.map((file) => <li key={file}><bdi>{file.name}</bdi> <button type="button" class="quiet" aria-label={`Remove ${file.name}`} onClick={() => setFiles(files.filter((each) => each !== file))}>✕</button></li>)}
        </ul>
      )}
      <input type="file" multiple hidden ref={chooser} onChange={({ currentTarget }) => { add(currentTarget.files ?? []); currentTarget.value = ""; }} />
      <button type="button" class="quiet attach" aria-label="Attach files" onClick={() => chooser.current?.click()}>+</button>
      <textarea
        value={text} rows={Math.min(6, text.split("\n").length)} dir="auto" placeholder="Write a message" aria-label="Message" maxLength={4096} ref={focused}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={pressed} onPaste={({ clipboardData }) => add(clipboardData?.files ?? [])}
      />
      <button class="primary" disabled={text.trim() === "" && files.length === 0}>Send</button>
    </form>
  );
}

export function RoomView({ room }: { room: Room }) {
  const { chat } = room;
  const conversation = chat.of(room.id);
  const title = conversation ? titleOf(conversation, chat.user) : room.id;
  const isIn = conversation?.membership.state === "in";
  const invite = () => {
    const userId = prompt("The id of the user to invite:")?.trim();
    userId && void chat.invite(room.id, userId);
  };
  return (
    <section class="room" aria-label={title}>
      <header>
        <a class="back" href="#" aria-label="All rooms">‹</a>
        <Avatar name={title} id={room.id} />
        <h1><bdi>{title}</bdi></h1>
        {isIn && room.mayInvite && <button onClick={invite}>Invite</button>}
        {isIn && <button class="quiet" onClick={() => void chat.leave(room.id)}>Leave</button>}
      </header>
      <Log room={room} />
      {isIn && <Composer room={room} />}
      {chat.isLoaded && !isIn && <p class="empty"><button class="primary" onClick={() => void chat.try(() => chat.accept(room.id))}>Join this room</button></p>}
    </section>
  );
}
