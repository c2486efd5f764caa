// Rooms: the user's conversations, and one of their rooms live. #/rooms/lobby opens the room "lobby".
import { html, useEffect, useMemo, useReducer, useState } from "../htm.js";
import { Empty } from "../ui.js";
import { Conversations, hrefOf } from "./conversations.js";
import { List } from "./list.js";
import { OpenRoom } from "./open-room.js";
import { Room } from "./room.js";
import { texts } from "./texts.js";

const FRAME = 16; // milliseconds: changes that come together are drawn once
const SHORT = 1_500; // milliseconds without a connection that the page does not show
const WIDE = "(min-width: 761px)";

/** The rooms of the user: made once, kept up to date while the view is there. */
function useRooms(session) {
  const [, redraw] = useReducer((n) => n + 1, 0);
  const rooms = useMemo(() => {
    const client = session.client("chat:read", "chat:write");
    const { user } = session;
    const opened = new Map();
    let timer;
    const changed = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        redraw();
      }, FRAME);
    };
    const conversations = new Conversations(client, user, {
      changed,
      message: (roomId, item) => opened.get(roomId)?.message(item) === true,
      ended: (roomId) => opened.get(roomId)?.refresh(),
      membership: (roomId) => opened.get(roomId)?.refresh(),
    });
    const open = (roomId) => {
      if (!opened.has(roomId)) {
        opened.set(roomId, new Room({ client, user, roomId, conversations, changed }));
      }
      return opened.get(roomId);
    };
    return { client, user, conversations, open };
  }, []);
  useEffect(() => {
    rooms.conversations.start();
    return () => rooms.conversations.close();
  }, []);
  return rooms;
}

/** Says that there is no connection, if that lasts. */
function Connection({ client }) {
  const [state, setState] = useState({ is: client.state });
  const [isLong, setIsLong] = useState(false);
  useEffect(() => client.on("state", (is, reason) => setState({ is, reason })), []);
  useEffect(() => {
    if (state.is === "open") {
      setIsLong(false);
      return undefined;
    }
    const timer = setTimeout(() => setIsLong(true), SHORT);
    return () => clearTimeout(timer);
  }, [state.is]);
  const waits = client.opens > 0 ? texts.offline : texts.connecting;
  const text = state.is === "closed" ? texts.closed(state.reason?.message) : waits;
  return html`<div class="offline" role="status">${isLong && html`<p>${text}</p>`}</div>`;
}

export default function Rooms({ session, path }) {
  const { client, user, conversations, open } = useRooms(session);
  const [first, setFirst] = useState();
  const newest = conversations.items[0]?.roomId;
  useEffect(() => {
    if (newest !== undefined && first === undefined && matchMedia(WIDE).matches) {
      setFirst(newest);
    }
  }, [newest]);
  // Where the list leaves room for it, the newest conversation is open at first.
  const roomId = path[0] || first;
  const room = roomId === undefined ? undefined : open(roomId);
  const answer = async (id, accepts) => {
    const operation = `${accepts ? "PUT" : "DELETE"} /rooms/{roomId}/members/{userId}`;
    await open(id).change(operation, { userId: user });
    if (accepts) {
      location.hash = hrefOf(id);
    }
  };
  const known = roomId && (conversations.of(roomId) ?? room.info);
  return html`
    <div class=${`rooms ${roomId === undefined ? "" : "has-room"}`}>
      <${Connection} client=${client} />
      <${List} conversations=${conversations} roomId=${roomId} answer=${answer} />
      ${room === undefined
        ? html`<div class="open-room"><${Empty} title=${texts.choose}>${texts.chooseHelp}<//></div>`
        : html`<${OpenRoom} key=${roomId} room=${room} title=${conversations.title(known ?? { roomId })} />`}
    </div>
  `;
}
