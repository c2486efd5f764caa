// A server and its sockets in memory, on node:test's timers: no test waits, and each run is the same.
import { mock } from "node:test";

import { Headrace } from "../../dist/index.js";

/** Random numbers from a seed (mulberry32). */
export function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Replace timers, the clock and Math.random; `pass` lets time pass in small steps. */
export function startTime(seed = 1) {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: Date.parse("2026-11-24T10:00:00Z") });
  mock.method(Math, "random", randomFrom(seed));
}

export function stopTime() {
  mock.timers.reset();
  mock.restoreAll();
}

/** Let frames travel: each way is one turn of the event loop. */
async function settle() {
  for (let turns = 0; turns < 20; turns += 1) {
    await new Promise((done) => setImmediate(done));
  }
}

export async function pass(milliseconds, step = 50) {
  await settle();
  for (let passed = 0; passed < milliseconds; passed += step) {
    mock.timers.tick(step);
    await settle();
  }
}

const LOG = 120_000;

const tag = (number) => number.toString(16).padStart(12, "0");

/** What stands for the channel of a user, and for a key of a stream, among the rooms. */
export const channel = (userId) => `#${userId}`;
const placeOf = (stream, key) => `${stream}#${key}`;

/** A room: its messages in the order of storing, each with the tag of the frame that pushed it. A channel: changes. A key of a stream: events. */
class Room {
  log = [];
  #number = 0;

  store(roomId, text, time) {
    const timestamp = new Date(time).toISOString();
    const number = ++this.#number;
    const key = `${timestamp}#m${number}#${roomId}`;
    const item = { key, roomId, messageId: `m${number}`, timestamp, userId: "alice", username: "alice", message: text };
    return this.#append({ ...item, messageType: "TEXT" }, time);
  }

  tell(change, time) {
    const number = ++this.#number;
    return this.#append({ key: `k${number}`, timestamp: new Date(time).toISOString(), ...change }, time);
  }

  /** Store a message again, with other fields. */
  change(index, fields, time) {
    this.#number += 1;
    return this.#append({ ...this.log[index].item, ...fields }, time);
  }

  #append(item, time) {
    this.log.push({ item, tag: tag(this.#number), time });
    return this.log.at(-1);
  }

  position(time, entry = this.log.at(-1)) {
    return `p${time * 1000}${entry === undefined ? "" : `-${entry.tag}`}`;
  }

  /** The index of the first message that is stored after a position, and `again` messages from before. */
  since(position, again = 0) {
    const at = Number(position.slice(1, 17)) / 1000;
    const known = this.log.findIndex((each) => position.endsWith(each.tag)) + 1;
    const stored = this.log.filter((each) => each.time < at).length;
    return Math.max(0, Math.max(known, known === 0 ? stored : 0) - again);
  }
}

/** A server; `fault(name)` decides whether something goes wrong. */
export class FakeServer {
  rooms = new Map();
  sockets = new Set();
  frames = [];
  opens = 0;
  refusesHandshakes = false;
  protocol = "headrace.v1";
  tokenLifetime = 3_600_000;
  /** Answers that differ from those of the methods below; undefined is no answer. */
  answers = {};
  #resumed = 0;

  constructor(fault = () => false) {
    this.fault = fault;
    const server = this;
    this.WebSocket = class {
      dead = false;
      protocol = server.protocol;
      rooms = new Set();
      constructor(url, protocols) {
        this.token = protocols[1];
        this.expires = Date.now() + server.tokenLifetime;
        setImmediate(() => server.#open(this));
      }
      send(text) {
        setImmediate(() => server.#receive(this, JSON.parse(text)));
      }
      close() {
        server.sockets.delete(this);
      }
    };
  }

  client(options = {}) {
    const { WebSocket } = this;
    const fetch = async () => new Response("", { status: 502 });
    return new Headrace({ httpUrl: "http://fake", wsUrl: "ws://fake", token: "h.p.s", WebSocket, fetch, ...options });
  }

  room(roomId) {
    return this.rooms.get(roomId) ?? this.rooms.set(roomId, new Room()).get(roomId);
  }

  /** Store a message, and push it to the sockets that follow the room; `lost` and `skipped` to none. */
  store(roomId, text, how) {
    this.#publish(roomId, { type: "messages", roomId }, (room) => room.store(roomId, text, Date.now()), how);
  }

  /** Push the message at `index` again, with other fields. */
  change(roomId, index, fields) {
    this.#publish(roomId, { type: "messages", roomId }, (room) => room.change(index, fields, Date.now()));
  }

  /** Tell a user of a change, as `store` does with a message. */
  tell(userId, change, how) {
    this.#publish(channel(userId), { type: "changes", userId }, (room) => room.tell(change, Date.now()), how);
  }

  /** Store an event of a stream, as `store` does with a message. */
  happen(stream, key, event, how) {
    this.#publish(placeOf(stream, key), { type: "events", stream, key }, (room) => room.tell(event, Date.now()), how);
  }

  #publish(roomId, head, add, { lost = false, skipped = false } = {}) {
    const room = this.room(roomId);
    const follows = room.log.at(-1)?.tag ?? tag(0);
    const entry = add(room);
    for (const socket of this.sockets) {
      const frame = { ...head, position: room.position(entry.time, entry), items: [entry.item] };
      if (socket.owesNotice) {
        frame.missed = true;
        socket.owesNotice = false;
      } else if (room.log.length > 1) {
        frame.follows = follows;
      }
      if (!socket.rooms.has(roomId) || lost || this.fault("lost")) {
        continue;
      }
      if (skipped || this.fault("skipped")) {
        socket.owesNotice = true;
        continue;
      }
      for (let times = this.fault("repeated") ? 2 : 1; times > 0; times -= 1) {
        if (this.fault("late")) {
          setTimeout(() => this.#push(socket, frame), 1_700 * Math.random());
        } else {
          setImmediate(() => this.#push(socket, frame));
        }
      }
    }
  }

  closeAll() {
    for (const socket of [...this.sockets]) {
      this.sockets.delete(socket);
      socket.onclose?.({});
    }
  }

  /** The sockets are dead without a notice, as after the sleep of a laptop. */
  killAll() {
    this.sockets.forEach((socket) => (socket.dead = true));
    this.sockets.clear();
  }

  push(frame) {
    this.sockets.forEach((socket) => this.#push(socket, frame));
  }

  #push(socket, frame) {
    if (!socket.dead && this.sockets.has(socket)) {
      socket.onmessage?.({ data: JSON.stringify(frame) });
    }
  }

  #open(socket) {
    if (this.refusesHandshakes || this.fault("handshake")) {
      socket.onclose?.({});
      return;
    }
    this.opens += 1;
    this.sockets.add(socket);
    socket.onopen?.({});
  }

  #receive(socket, { action, requestId, ...fields }) {
    if (!this.sockets.has(socket) || this.fault("ignored")) {
      return;
    }
    this.frames.push({ action, ...fields });
    let answer;
    if (Date.now() >= socket.expires && action !== "authenticate") {
      answer = error("token_expired");
    } else if (action !== "ping" && this.fault("refused")) {
      answer = error("rate_limited", 1);
    } else {
      answer = (this.answers[action] ?? this[action]).call(this, fields, socket);
    }
    if (answer === undefined) {
      return;
    }
    setImmediate(() => this.#push(socket, { requestId, correlationId: "c", ...answer }));
  }

  ping(_, socket) {
    return { type: "pong", time: new Date().toISOString(), tokenExpiresAt: new Date(socket.expires).toISOString() };
  }

  authenticate({ token }, socket) {
    socket.token = token;
    socket.expires = Date.now() + this.tokenLifetime;
    return { type: "authenticated", tokenExpiresAt: new Date(socket.expires).toISOString() };
  }

  subscribe({ roomId, userId }, socket) {
    const followed = roomId ?? channel(userId);
    socket.rooms.add(followed);
    return { type: "subscribed", roomId, userId, position: this.room(followed).position(Date.now()) };
  }

  unsubscribe({ roomId, userId }, socket) {
    socket.rooms.delete(roomId ?? channel(userId));
    return { type: "unsubscribed", roomId, userId };
  }

  follow({ stream, key, since }, socket) {
    const place = placeOf(stream, key);
    socket.rooms.add(place);
    const found = since === undefined ? { items: [], missed: false } : this.#logged(place, since);
    return { type: "following", stream, key, ...found, hasMore: false, position: this.room(place).position(Date.now()) };
  }

  unfollow({ stream, key }, socket) {
    socket.rooms.delete(placeOf(stream, key));
    return { type: "unfollowed", stream, key };
  }

  sendBatch({ events }) {
    const results = events.map(({ roomId, messageId }) => ({ roomId, messageId, timestamp: "…", lane: "main" }));
    return { type: "acks", results };
  }

  /** Every third answer is cut: its rest is in the history `since` the old position. Changes are kept two minutes. */
  resume({ rooms = {}, users = {} }, socket) {
    const found = {};
    for (const [roomId, position] of Object.entries(rooms)) {
      socket.rooms.add(roomId);
      const room = this.room(roomId);
      const items = room.log.slice(room.since(position, 2)).map((each) => each.item);
      const isCut = ++this.#resumed % 3 === 0 && items.length > 2;
      found[roomId] = {
        items: isCut ? items.slice(-2) : items,
        next: isCut ? items.at(-2).key : null,
        hasMore: isCut,
        position: room.position(Date.now()),
      };
    }
    const changes = Object.entries(users).map(([userId, position]) => {
      socket.rooms.add(channel(userId));
      const now = this.room(channel(userId)).position(Date.now());
      return [userId, { ...this.#logged(channel(userId), position), hasMore: false, position: now }];
    });
    return { type: "resumed", rooms: found, ...(changes.length > 0 && { users: Object.fromEntries(changes) }) };
  }

  /** What the log, which is kept two minutes, has of a channel or a key since a position. */
  #logged(place, position) {
    const missed = Date.now() - Number(position.slice(1, 17)) / 1000 > LOG;
    const room = this.room(place);
    return { items: missed ? [] : room.log.slice(room.since(position)).map((each) => each.item), missed };
  }

  history({ roomId, since, before, limit }) {
    const room = this.room(roomId);
    const position = room.position(Date.now());
    if (room.log.length === 0) {
      return error("not_found");
    }
    const first = since === undefined ? 0 : room.since(since, 2);
    const end = before === undefined ? room.log.length : room.log.findIndex((each) => each.item.key === before);
    const start = Math.max(first, end - Math.min(limit, 3));
    const items = room.log.slice(start, end).map((each) => each.item);
    const hasMore = start > first;
    return { type: "history", roomId, items: items.reverse(), next: items.at(-1)?.key ?? null, hasMore, position };
  }
}

export function error(code, retryAfter) {
  return { type: "error", error: { code, message: code, details: [], ...(retryAfter && { retryAfter }) } };
}

/** Collect the texts of messages in the background; of other items, what `text` returns. */
export function collect(following, text = ({ message }) => message) {
  const found = { texts: [], error: undefined, ended: false };
  (async () => {
    try {
      for await (const message of following) {
        found.texts.push(text(message));
      }
    } catch (thrown) {
      found.error = thrown;
    }
    found.ended = true;
  })();
  return found;
}

// Random faults: each name with its probability.
const FAULTS = { lost: 0.1, skipped: 0.05, repeated: 0.1, late: 0.2, refused: 0.05, ignored: 0.02, handshake: 0.2 };
const HAPPENINGS = 30;
export const RUNS = Number(process.env.MODEL_RUNS ?? 30);

/** Call what `begin(client, server, random)` returns with 0 to 29, while frames are lost and connections cut; the last in calm. */
export async function runWithFaults(seed, begin) {
  stopTime();
  startTime(seed);
  const random = randomFrom(seed + 1_000);
  let calm = false;
  const server = new FakeServer((name) => !calm && random() < FAULTS[name]);
  const client = server.client({ settings: { checkInterval: 1e9 } }); // the frames alone say what is missing
  const happen = begin(client, server, random);
  await pass(1_000);
  for (let number = 0; number < HAPPENINGS - 1; number += 1) {
    happen(number);
    if (random() < 0.1) {
      server.closeAll();
    } else if (random() < 0.03) {
      server.killAll();
    }
    await pass(random() < 0.05 ? 150_000 : random() * 2_000, 1_000);
  }
  calm = true;
  await pass(120_000, 1_000);
  happen(HAPPENINGS - 1);
  await pass(3_000);
  client.close();
}
