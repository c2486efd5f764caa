// One room as one user sees it, live, with a tick and the times of each message.
import { html, useEffect, useReducer, useRef, useState } from "../htm.js";
import { clock, localTexts as texts } from "../texts.js";

const KEPT = 200;
const UNSEEN = 2_000; // milliseconds after which an accepted message that was not pushed is looked for

/**
 * When messages were sent, accepted, stored and seen by a user, by their ids: shared by all panes of the page, which
 * have one clock.
 */
export const sentTimes = new Map();

const byKey = (a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);

/** The user sees the message. If it was sent before the pane was opened, it is unknown when the user saw it. */
function note(messageId, user, opened) {
  const times = sentTimes.get(messageId);
  if (times !== undefined && times.sent >= opened) {
    times.stored ??= Date.now();
    times.seen[user] ??= Date.now();
  }
}

/** The newest page of the room; `undefined` for one that begins with its first message. */
async function newest(client, room) {
  try {
    return await client.request("GET /rooms/{roomId}/messages", { roomId: room, limit: 30 });
  } catch (error) {
    if (error.code === "not_found") {
      return undefined;
    }
    throw error;
  }
}

/** Follows the room from its newest page on, until `signal`; calls `add` with messages. */
async function follow(client, room, signal, add) {
  const page = await newest(client, room);
  add(page?.items ?? []);
  if (signal.aborted) {
    return;
  }
  const options = page && { since: page.position, known: page.items.map(({ key }) => key) };
  const following = client.follow(room, options);
  signal.addEventListener("abort", () => following.close());
  if (page === undefined) {
    // Without a position, the room is followed from now on. Its first message can have come before.
    await following.ready;
    add((await newest(client, room))?.items ?? []);
  }
  for await (const message of following) {
    add([message]);
  }
}

/** Looks for an accepted message that is not pushed, as while the broker is away. */
async function look(client, room, messageId, add) {
  for (;;) {
    await new Promise((done) => setTimeout(done, UNSEEN));
    if (sentTimes.get(messageId).stored !== undefined) {
      return;
    }
    const { items } = await client.request("GET /rooms/{roomId}/messages", { roomId: room, limit: 30 });
    const found = items.filter((item) => item.messageId === messageId);
    if (found.length > 0) {
      add(found);
    }
  }
}

function tickOf(times) {
  if (times.error !== undefined) {
    return ["failed", "✕", texts.tick.failed(times.error)];
  }
  if (times.accepted === undefined) {
    return ["sending", "○", texts.tick.sending];
  }
  const accepted = times.accepted - times.sent;
  if (times.stored === undefined) {
    return [`accepted ${times.lane}`, "✓", texts.tick.accepted(times.lane, accepted)];
  }
  return [`stored ${times.lane}`, "✓✓", texts.tick.stored(times.lane, accepted, times.stored - times.sent)];
}

function Message({ message, own, user }) {
  const times = sentTimes.get(message.messageId);
  const tick = own && times !== undefined ? tickOf(times) : undefined;
  return html`
    <li class=${own ? "own" : ""}>
      <p class="meta"><b>${message.username}</b> <time>${clock(Date.parse(message.timestamp))}</time></p>
      <p class="text" dir="auto">${message.deletedAt ? texts.deleted : message.message}</p>
      ${tick !== undefined && html`<p class=${`tick ${tick[0]}`}><span aria-hidden="true">${tick[1]}</span> ${tick[2]}</p>`}
      ${!own && times?.seen[user] !== undefined && html`<p class="tick">${texts.seen(times.seen[user] - times.sent)}</p>`}
    </li>
  `;
}

export function Pane({ client, user, room }) {
  const messages = useRef(new Map());
  const opened = useRef(Date.now());
  const list = useRef(null);
  const [text, setText] = useState("");
  const [state, setState] = useState(client.state);
  const [failure, setFailure] = useState("");
  const [version, changed] = useReducer((n) => n + 1, 0);

  const add = (items) => {
    for (const item of items) {
      messages.current.set(item.messageId, item);
      note(item.messageId, user, opened.current);
    }
    changed();
  };
  useEffect(() => {
    const end = new AbortController();
    follow(client, room, end.signal, add).catch((error) => setFailure(error.message));
    const off = client.on("state", (now) => setState(now));
    return () => {
      end.abort();
      off();
    };
  }, []);
  useEffect(() => {
    list.current.scrollTop = list.current.scrollHeight;
  }, [version]);

  const send = async (event) => {
    event.preventDefault();
    const message = text.trim();
    if (message === "") {
      return;
    }
    setText("");
    const messageId = client.newId();
    const times = { sent: Date.now(), seen: {} };
    sentTimes.set(messageId, times);
    const timestamp = new Date().toISOString();
    messages.current.set(messageId, { messageId, message, username: user, userId: user, timestamp });
    changed();
    try {
      times.lane = (await client.send(room, message, { id: messageId })).lane;
      times.accepted = Date.now();
      changed();
      await look(client, room, messageId, add);
    } catch (error) {
      if (times.accepted === undefined) {
        times.error = error.message;
      } else {
        setFailure(error.message);
      }
      changed();
    }
  };

  // Messages that are not stored have no key; they are the newest.
  const all = [...messages.current.values()];
  const shown = [...all.filter(({ key }) => key).sort(byKey), ...all.filter(({ key }) => !key)].slice(-KEPT);
  return html`
    <section class="pane" aria-label=${texts.pane(user)}>
      <h2>
        <span>${texts.room(room)} <small>${texts.pane(user)}</small></span>
        <span class=${`state ${state === "open" ? "good" : "busy"}`} role="status">${texts.connection[state]}</span>
      </h2>
      <div class="said" ref=${list} tabindex="0" role="log" aria-label=${texts.messages(user)}>
        ${shown.length === 0 && html`<p class="none">${texts.empty}</p>`}
        <ol>
          ${shown.map(
            (each) => html`<${Message} key=${each.messageId} message=${each} own=${each.userId === user}
              user=${user} />`,
          )}
        </ol>
      </div>
      ${failure !== "" && html`<p class="failure" role="alert">${failure}</p>`}
      <form onSubmit=${send}>
        <input value=${text} onInput=${(event) => setText(event.currentTarget.value)} autocomplete="off"
          aria-label=${`${texts.message} ${texts.pane(user)}`} placeholder=${texts.placeholder} maxlength="2000" />
        <button>${texts.send}</button>
      </form>
    </section>
  `;
}
