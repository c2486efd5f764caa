// The open room: its head, its messages, and the field for a new one.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../htm.js";
import { Empty, Failure, Loading, State } from "../ui.js";
import { Files, useFiles } from "./attachments.js";
import { dayAndTime } from "./format.js";
import { Sign } from "./list.js";
import { Members } from "./members.js";
import { brief, Row } from "./message.js";
import { Scroll } from "./scroll.js";
import { texts } from "./texts.js";
import { ThreadPanel } from "./thread.js";

const LARGEST = 4_096; // bytes of a text
const NAMES = 1_000; // characters of a text that is made of the names of files
/** What is not sent yet, by user and room. */
const drafts = new Map();
const bytesOf = (text) => new TextEncoder().encode(text).length;

/** A day of the reader, such as 2026-11-26, from which the room is read. */
function Jump({ room, close }) {
  const submit = (event) => {
    event.preventDefault();
    room.jump(new Date(`${new FormData(event.currentTarget).get("day")}T00:00:00`).toISOString());
    close();
  };
  return html`
    <form class="jump" onSubmit=${submit}>
      <label>${texts.jump} <input name="day" type="date" required ref=${(field) => field?.focus()} /></label>
      <button class="primary">${texts.go}</button>
    </form>
  `;
}

function Head({ room, title, panel, show }) {
  const { info } = room;
  const join = () => room.change("PUT /rooms/{roomId}/members/{userId}", { userId: room.user });
  const canJoin = info !== undefined && info.membership?.state !== "in" && (info.kind === "open" || info.invitation !== null);
  return html`
    <div class="bar head">
      <a class="back" href="#/rooms" aria-label=${texts.back}>‹</a>
      <${Sign} of=${info ?? { kind: "open" }} title=${title} />
      <div class="title">
        <h2><bdi>${title}</bdi></h2>
        <p class="note">${room.online.count > 0 && html`<${State} tone="good">${texts.here(room.online.count, room.online.hasMore)}<//> · `}
          <bdi>${info?.topic ?? texts.kinds[info?.form === "direct" ? "person" : (info?.kind ?? "open")]}</bdi></p>
      </div>
      ${canJoin && html`<button type="button" class="primary" onClick=${join}>${info.invitation ? texts.accept : texts.join}</button>`}
      ${room.error === undefined && html`
        <button type="button" class="quiet" aria-expanded=${panel === "jump"} aria-label=${texts.jump} title=${texts.jump} onClick=${() => show("jump")}>
          <svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><rect x="2" y="3.5" width="12" height="10.5" rx="1.5" /><path d="M2 7h12M5 1.5v3M11 1.5v3" /></svg>
        </button>
        <button type="button" class="quiet" aria-expanded=${panel === "members"} onClick=${() => show("members")}>${texts.members}</button>
      `}
    </div>
  `;
}

function Composer({ room, title }) {
  const draft = `${room.user} ${room.roomId}`;
  const [text, setText] = useState(drafts.get(draft) ?? "");
  const field = useRef(null);
  const chosen = useFiles(draft);
  const { files } = chosen;
  const said = text.trim() || [...files.map(({ name }) => name).join(", ")].slice(0, NAMES).join("");
  const bytes = bytesOf(text);
  const { acts } = room;
  const { answered } = acts;
  const label = answered === undefined ? texts.messageTo(title) : texts.replyTo(answered.item.username);
  const write = (value) => {
    setText(value);
    drafts.set(draft, value);
  };
  useLayoutEffect(() => {
    field.current.style.height = "auto";
    field.current.style.height = `${field.current.scrollHeight + 2}px`;
  }, [text]);
  useEffect(() => {
    // Who opened the room in the list goes on here; Esc leads back.
    if (document.activeElement?.matches(".conversation[aria-current]") && matchMedia("(pointer: fine)").matches) {
      field.current.focus();
    }
  }, []);
  useLayoutEffect(() => {
    if (answered !== undefined) {
      field.current.focus();
    }
  }, [answered]);
  const submit = (event) => {
    event.preventDefault();
    if (said !== "" && bytes <= LARGEST) {
      room.send(said, files);
      write("");
      chosen.keep([]);
    }
    field.current.focus();
  };
  const pressed = (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      submit(event);
    } else if (event.key === "ArrowUp" && text === "") {
      event.preventDefault();
      acts.editLast();
    } else if (event.key === "Escape" && answered !== undefined) {
      event.stopPropagation();
      acts.answer();
    }
  };
  /** Takes files that are dropped or pasted; a text of an office program comes with a picture of it. */
  const take = (event, { types, files: given }) => {
    if (types.includes("Files") && !types.includes("text/plain")) {
      event.preventDefault();
      if (event.type !== "dragover") {
        chosen.add(given);
      }
    }
  };
  const over = (event) => take(event, event.dataTransfer);
  return html`
    <form class="composer" onSubmit=${submit} onDragOver=${over} onDrop=${over}
      onPaste=${(event) => take(event, event.clipboardData)}>
      ${answered !== undefined && html`
        <p class="answered"><span aria-hidden="true">↩</span> <span dir="auto">${brief(answered.item)}</span>
          <button type="button" class="quiet" aria-label=${texts.noReply} onClick=${() => { acts.answer(); field.current.focus(); }}>✕</button></p>
      `}
      <${Files} ...${chosen} />
      <textarea ref=${field} rows="1" value=${text} dir="auto" aria-label=${label} placeholder=${label}
        onInput=${(event) => write(event.currentTarget.value)} onKeyDown=${pressed}></textarea>
      <button class="primary" disabled=${said === "" || bytes > LARGEST}>${texts.send}</button>
      ${bytes > LARGEST && html`<p class="failure" role="alert">${texts.tooLong(bytes, LARGEST)}</p>`}
    </form>
  `;
}

/** Above the first message: the beginning of the room, or that older messages are read. */
function Above({ room }) {
  const { history, pages } = room;
  const error = pages.failure.older ?? pages.failure.newer ?? pages.failure.around;
  return html`
    <div class="above">
      ${error !== undefined && html`<${Failure} error=${error} again=${() => pages.retry()} />`}
      ${error === undefined && (history.hasStart
        ? html`<p class="note">${history.stored.length === 0 ? texts.noMessages : texts.beginning}</p>`
        : html`<p class="note" role="status">${texts.reading}</p>`)}
    </div>
  `;
}

function Foot({ room, title }) {
  if (room.canWrite) {
    return html`<${Composer} key=${room.roomId} room=${room} title=${title} />`;
  }
  return html`<p class="note foot">${texts.leftAt(room.membership && dayAndTime(room.membership.since))}</p>`;
}

function Messages({ room, title, boxRef }) {
  const { history } = room;
  const rows = history.rows();
  const first = room.line === undefined ? undefined : history.firstUnread(room.line);
  const [atEnd, setAtEnd] = useState(true);
  const sees = (now) => {
    setAtEnd(now);
    room.sees(now);
  };
  const isLine = (index) => rows[index] === first && (index > 0 || history.hasStart);
  const isShown = (index) => room.target?.isMarked === true && room.target.row === rows[index];
  const draw = (index) => html`
    <${Row} key=${rows[index].id} row=${rows[index]} before=${rows[index - 1]} line=${isLine(index)} isShown=${isShown(index)} room=${room} />
  `;
  const parts = (index) => [
    rows[index].item, rows[index].tick, rows[index].change, rows[index].reaction, rows[index].reactors, rows[index - 1]?.item,
    isLine(index), isShown(index), history.isAnswered(rows[index].item.key),
    history.rowOf(rows[index].item.replyTo)?.item,
    room.acts.now?.row === rows[index] && room.acts.now,
  ];
  return html`
    <div class="scroller">
      ${room.hasOlderUnread && html`
        <button type="button" class="float top" onClick=${() => room.jumpToLine()}>${texts.unreadSince(room.unread)} ↑</button>
      `}
      <${Scroll} rows=${rows} row=${draw} parts=${parts} target=${room.target} follows=${history.hasEnd} boxRef=${boxRef}
        label=${texts.messagesOf(title)} above=${() => html`<${Above} room=${room} />`}
        near=${(name) => room.read(name)} sees=${sees} goToEnd=${() => room.present()} />
      ${!(atEnd && history.hasEnd) && html`
        <button type="button" class="float bottom" onClick=${() => room.present()}>
          ${history.unseen > 0 ? texts.newBelow(history.unseen) : texts.present} ↓
        </button>
      `}
    </div>
  `;
}

function Refused({ room }) {
  const { error, info } = room;
  if (info?.invitation) {
    return html`<${Empty} title=${texts.invitedBy(info.invitation.invitedBy)}>${texts.acceptToRead}<//>`;
  }
  return error.code === "forbidden"
    ? html`<${Empty} title=${texts.refused}>${texts.refusedHelp}<//>`
    : html`<${Failure} error=${error} again=${() => room.open()} />`;
}

export function OpenRoom({ room, title }) {
  const [panel, setPanel] = useState();
  const box = useRef(null);
  useEffect(() => {
    room.open();
    const looked = () => room.looked();
    document.addEventListener("visibilitychange", looked);
    return () => {
      document.removeEventListener("visibilitychange", looked);
      room.close();
    };
  }, []);
  const close = () => {
    setPanel(undefined);
    room.openThread();
    box.current?.focus();
  };
  const show = (name) => {
    setPanel(shown === name ? undefined : name);
    room.openThread();
  };
  const pressed = (event) => {
    if (event.key !== "Escape") {
      return;
    }
    if (shown !== undefined) {
      close();
    } else {
      document.querySelector(".conversation[tabindex='0']")?.focus();
    }
  };
  const shown = room.thread === undefined ? panel : "thread";
  const canRead = room.isLoaded && room.error === undefined;
  return html`
    <section class="open-room" aria-label=${title} onKeyDown=${pressed}>
      <${Head} room=${room} title=${title} panel=${shown} show=${show} />
      ${canRead && shown === "jump" && html`<${Jump} room=${room} close=${close} />`}
      ${room.refusal !== undefined && html`<p class="failure" role="alert">${texts.errors[room.refusal.code] ?? room.refusal.message}</p>`}
      <div class="room-body">
        <div class="talk">
          ${!room.isLoaded && html`<${Loading} />`}
          ${room.isLoaded && room.error !== undefined && html`<${Refused} room=${room} />`}
          ${canRead && html`<${Messages} room=${room} title=${title} boxRef=${box} /><${Foot} room=${room} title=${title} />`}
        </div>
        ${canRead && shown === "thread" && html`<${ThreadPanel} room=${room} close=${close} />`}
        ${canRead && shown === "members" && html`<${Members} room=${room} close=${close} />`}
      </div>
    </section>
  `;
}
