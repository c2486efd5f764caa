// A followed room gives each message once, whatever happens to frames and connections.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { collect, error, FakeServer, pass, randomFrom, startTime, stopTime } from "./fake.mjs";

beforeEach(() => startTime());
afterEach(stopTime);

async function following(options = {}, server = new FakeServer()) {
  const client = server.client(options);
  const room = client.follow("lobby");
  const found = collect(room);
  await pass(100);
  return { server, client, room, found };
}

const actions = (server) => server.frames.map((frame) => frame.action);

test("pushed messages come in order", async () => {
  const { server, client, found } = await following();
  ["a", "b", "c"].forEach((text) => server.store("lobby", text));
  await pass(100);
  assert.deepEqual(found.texts, ["a", "b", "c"]);
  client.close();
  await pass(100);
  assert.equal(found.ended, true);
  assert.equal(found.error, undefined);
});

test("a frame that comes twice is shown once", async () => {
  const { server, client, found } = await following({}, new FakeServer((name) => name === "repeated"));
  server.store("lobby", "a");
  await pass(100);
  assert.deepEqual(found.texts, ["a"]);
  client.close();
});

test("a message comes again when something of it is new, and not as it was before", async () => {
  const { server, client, found } = await following();
  const [first, second, third] = [1, 2, 3].map((second) => `2025-11-21T10:00:0${second}.000000Z`);
  server.store("lobby", "a");
  for (const [text, fields] of [
    ["reacted", { reactions: { up: 1 }, reactionsAt: first }],
    ["reacted again", { reactions: { up: 2 }, reactionsAt: second }],
    ["old reactions", { reactions: { up: 1 }, reactionsAt: first }],
    ["edited", { editedAt: first, reactions: { up: 2 }, reactionsAt: second }],
    ["not edited yet", { reactions: { up: 3 }, reactionsAt: third }],
    ["edited, reacted", { editedAt: first, reactions: { up: 3 }, reactionsAt: third }],
    ["", { deletedAt: first }],
    ["not deleted yet", { editedAt: third, reactionsAt: third }],
  ]) {
    server.change("lobby", 0, { message: text, ...fields });
  }
  await pass(100);
  assert.deepEqual(found.texts, ["a", "reacted", "reacted again", "edited", "edited, reacted", ""]);
  client.close();
});

test("a lost frame is fetched within a second after the next one", async () => {
  const { server, client, found } = await following();
  server.store("lobby", "first");
  server.store("lobby", "lost", { lost: true });
  server.store("lobby", "last");
  await pass(200);
  assert.deepEqual(found.texts, ["first", "last"]);
  await pass(1_000);
  assert.deepEqual(found.texts, ["first", "last", "lost"]);
  client.close();
});

test("a frame that says that one was skipped is shown in order with it, at once", async () => {
  const { server, client, found } = await following();
  server.store("lobby", "first");
  server.store("lobby", "skipped", { skipped: true });
  await pass(10);
  server.store("lobby", "last");
  await pass(10);
  assert.deepEqual(found.texts, ["first", "skipped", "last"]);
  client.close();
});

test("a notice during a resumption leads to another one", async () => {
  const { server, client, found } = await following();
  server.store("lobby", "first");
  await pass(10);
  const { resume } = FakeServer.prototype;
  server.answers.resume = (fields, socket) => {
    delete server.answers.resume;
    const early = resume.call(server, fields, socket);
    server.store("lobby", "second", { skipped: true });
    server.store("lobby", "third");
    return early;
  };
  server.store("lobby", "lost", { skipped: true });
  server.store("lobby", "notice");
  await pass(100);
  assert.deepEqual(found.texts.sort(), ["first", "lost", "notice", "second", "third"]);
  assert.ok(actions(server).filter((action) => action === "resume").length > 1);
  client.close();
});

test("a resumption without an answer is repeated on another connection", async () => {
  const { server, client, found } = await following();
  server.answers.resume = () => {
    delete server.answers.resume;
  };
  server.store("lobby", "skipped", { skipped: true });
  server.store("lobby", "last");
  await pass(17_000);
  assert.deepEqual(found.texts, ["last", "skipped"]);
  assert.equal(server.opens, 2);
  client.close();
});

test("a late frame is waited for, not asked for", async () => {
  const earlier = new FakeServer();
  earlier.store("lobby", "before");
  const { server, client, found } = await following({}, earlier);
  const [early, late] = ["x", "y"].map((text, index) => ({
    type: "messages",
    roomId: "lobby",
    follows: ["000000000001", "0000000000aa"][index],
    position: `p1795528801000000-${["0000000000aa", "0000000000bb"][index]}`,
    items: [{ key: text, message: text }],
  }));
  server.push(late);
  server.push(early);
  await pass(2_000);
  assert.deepEqual(found.texts, ["y", "x"]);
  assert.ok(!actions(server).includes("resume"));
  client.close();
});

test("an answer that comes after its request was given up is no message", async () => {
  const { server, client, found } = await following();
  const items = [{ key: "old", message: "old" }];
  server.push({ type: "history", requestId: "given up", roomId: "lobby", position: "p1795528801000000-0000000000cc", items });
  await pass(2_000);
  assert.deepEqual(found.texts, []);
  client.close();
});

test("after a lost connection the client resumes from its position", async () => {
  const { server, client, found } = await following();
  server.store("lobby", "before");
  await pass(100);
  server.closeAll();
  server.store("lobby", "meanwhile");
  await pass(3_000);
  server.store("lobby", "after");
  await pass(100);
  assert.deepEqual(found.texts, ["before", "meanwhile", "after"]);
  assert.equal(server.opens, 2);
  assert.equal(client.opens, 2);
  client.close();
});

test("a connection that died in the sleep of a laptop is found by a ping", async () => {
  const { server, client, found } = await following();
  server.killAll();
  server.store("lobby", "in the night");
  // The timers rest and then run at once, with a clock that is an hour ahead.
  await pass(3_600_000, 3_600_000);
  await pass(10_000);
  assert.deepEqual(found.texts, ["in the night"]);
  client.close();
});

test("a connection that dies without a notice is found within the ping interval", async () => {
  const { server, client, found } = await following();
  server.killAll();
  server.store("lobby", "unseen");
  await pass(75_000, 1_000);
  assert.deepEqual(found.texts, ["unseen"]);
  client.close();
});

test("the token is renewed before it expires, on the same connection", async () => {
  const server = new FakeServer();
  server.tokenLifetime = 300_000;
  let asked = 0;
  const { client } = await following({ token: async () => `h.p.${++asked}` }, server);
  await pass(1_000_000, 1_000);
  assert.equal(server.opens, 1);
  assert.ok(actions(server).filter((action) => action === "authenticate").length >= 3);
  assert.ok(!server.frames.some(({ token }) => token === "h.p.1"));
  client.close();
});

test("what was not pushed before a renewal is fetched after it", async () => {
  const server = new FakeServer();
  server.tokenLifetime = 300_000;
  const { client, found } = await following({ token: async () => "h.p.s" }, server);
  server.store("lobby", "unseen", { lost: true });
  await pass(245_000, 1_000);
  assert.deepEqual(found.texts, ["unseen"]);
  assert.equal(server.opens, 1);
  client.close();
});

test("clients that lose their connections together do not return together", async () => {
  const server = new FakeServer();
  const clients = Array.from({ length: 300 }, () => server.client());
  await Promise.all([...clients.map((client) => client.connect()), pass(100)]);
  server.closeAll();
  const opened = [];
  for (let tenth = 0; tenth < 12; tenth += 1) {
    const before = server.opens;
    await pass(100);
    opened.push(server.opens - before);
  }
  assert.equal(server.opens, 600);
  assert.ok(Math.max(...opened) < 60, `opened in each tenth of a second: ${opened}`);
  clients.forEach((client) => client.close());
});

test("without a renewal, another connection follows the expired one", async () => {
  const server = new FakeServer();
  server.tokenLifetime = 60_000;
  server.answers.authenticate = () => error("forbidden");
  const { client, found } = await following({ token: async () => "h.p.s" }, server);
  await pass(70_000, 1_000);
  server.store("lobby", "late");
  await pass(5_000);
  assert.ok(server.opens >= 2);
  assert.deepEqual(found.texts, ["late"]);
  client.close();
});

test("a refused token ends the loop with the error", async () => {
  const server = new FakeServer();
  server.refusesHandshakes = true;
  const fetch = async () => new Response('{"message":"Unauthorized"}', { status: 401 });
  const { found } = await following({ fetch }, server);
  await pass(10_000);
  assert.equal(found.error.code, "unauthorized");
  assert.equal(found.error.status, 401);
});

test("a connection that opens to say that the token has expired gets another token", async () => {
  const server = new FakeServer();
  server.protocol = "headrace.token_expired";
  let asked = 0;
  const { client, found } = await following({ token: async () => `h.p.${++asked}` }, server);
  server.protocol = "headrace.v1";
  await pass(5_000);
  server.store("lobby", "now");
  await pass(100);
  assert.deepEqual(found.texts, ["now"]);
  assert.deepEqual([asked, server.opens], [2, 2]);
  client.close();
});

test("a provider of tokens that fails is asked again, also for messages", async () => {
  const server = new FakeServer();
  let fails = true;
  const token = async () => {
    if (fails) {
      throw new TypeError("fetch failed");
    }
    return "h.p.s";
  };
  const { client, found } = await following({ token }, server);
  const sent = client.send("lobby", "hello");
  await pass(5_000);
  assert.equal(server.opens, 0);
  fails = false;
  await pass(40_000, 500);
  assert.equal((await sent).lane, "main");
  server.store("lobby", "now");
  await pass(100);
  assert.deepEqual(found.texts, ["now"]);
  client.close();
});

test("an error that the client does not know ends the loop, and is the cause of its error", async () => {
  const refused = new DOMException("an encrypted page", "SecurityError");
  const WebSocket = class {
    constructor() {
      throw refused;
    }
  };
  const { client, found } = await following({ WebSocket });
  assert.deepEqual([found.error.code, found.error.cause], ["failed", refused]);
  await assert.rejects(client.follow("den").next(), { code: "failed" });
});

test("a token without a scope of the WebSocket API ends the loop", async () => {
  const server = new FakeServer();
  server.protocol = "headrace.forbidden";
  const { client, found } = await following({}, server);
  assert.equal(found.error.code, "forbidden");
  assert.equal(client.state, "closed");
});

test("a server that is away is tried again with growing random pauses", async () => {
  const server = new FakeServer();
  server.refusesHandshakes = true;
  let tries = 0;
  const token = () => `h.p.${++tries}`;
  const fetch = async () => new Response("", { status: 502 });
  const { client, found } = await following({ token, fetch }, server);
  await pass(120_000, 1_000);
  assert.ok(tries > 8 && tries < 60, `${tries} tries`);
  server.refusesHandshakes = false;
  await pass(35_000, 1_000);
  server.store("lobby", "back");
  await pass(1_000);
  assert.deepEqual(found.texts, ["back"]);
  client.close();
});

test("a room that cannot be read any more ends its loop with the error, and no other", async () => {
  const { server, client, found } = await following();
  const other = collect(client.follow("den"));
  await pass(100);
  server.answers.resume = ({ rooms }) => ({
    type: "resumed",
    rooms: Object.fromEntries(
      Object.keys(rooms).map((id) => [
        id,
        id === "lobby" ? { error: error("forbidden").error } : server.resume({ rooms }, [...server.sockets][0]).rooms[id],
      ]),
    ),
  });
  server.closeAll();
  await pass(3_000);
  assert.equal(found.error.code, "forbidden");
  server.store("den", "still here");
  await pass(100);
  assert.deepEqual(other.texts, ["still here"]);
  client.close();
});

test("what a slow loop has not taken is bounded, and the rest comes when it has caught up", async () => {
  const server = new FakeServer();
  server.answers.resume = ({ rooms }) => {
    const room = server.room("lobby");
    const start = room.since(rooms.lobby);
    const entries = room.log.slice(start, start + 10);
    const last = entries.at(-1) ?? room.log.at(-1);
    const items = entries.map(({ item }) => item);
    const hasMore = start + 10 < room.log.length;
    return { type: "resumed", rooms: { lobby: { items, next: null, hasMore, position: room.position(last.time, last) } } };
  };
  const client = server.client({ settings: { mostWaiting: 20 } });
  const room = client.follow("lobby");
  await Promise.all([room.ready, pass(100)]);
  const texts = Array.from({ length: 100 }, (_, index) => `n${index}`);
  for (const text of texts) {
    server.store("lobby", text);
    await pass(10, 10);
  }
  const most = [room.waiting];
  const seen = [];
  while (seen.length < texts.length) {
    const taken = room.next();
    await pass(10, 10);
    seen.push((await taken).value.message);
    most.push(room.waiting);
  }
  assert.deepEqual(seen, texts);
  assert.ok(Math.max(...most) <= 30, `${Math.max(...most)} wait`);
  client.close();
});

test("leaving the loop unsubscribes, and the room can be followed again", async () => {
  const { server, client, room } = await following();
  await room.return();
  assert.throws(() => (client.follow("den"), client.follow("den")), { code: "conflict" });
  const found = collect(client.follow("lobby"));
  await pass(100);
  server.store("lobby", "again");
  await pass(100);
  assert.deepEqual(found.texts, ["again"]);
  client.close();
});

test("a room is not followed again before the server has answered that it was left", async () => {
  const { server, client, room } = await following();
  server.answers.unsubscribe = () => undefined;
  room.close();
  client.follow("lobby");
  await pass(10_000);
  assert.equal(actions(server).filter((action) => action === "subscribe").length, 1);
  await pass(10_000);
  assert.equal(actions(server).filter((action) => action === "subscribe").length, 2);
  client.close();
});

test("a later client goes on from a position, without the messages that it knows as they are", async () => {
  const server = new FakeServer();
  const first = server.client();
  const early = first.follow("lobby");
  await pass(100);
  ["a", "b"].forEach((text) => server.store("lobby", text));
  await pass(100);
  assert.equal((await early.next()).value.message, "a");
  assert.equal((await early.next()).value.message, "b");
  early.next();
  await pass(1);
  first.close();
  server.room("lobby").log[0].item.reactionsAt = "2026-11-24T10:00:00Z";
  const known = server.room("lobby").log.map(({ item }) => ({ ...item }));
  server.room("lobby").log[1].item.editedAt = "2026-11-24T10:00:01Z";
  server.store("lobby", "c");

  const second = server.client();
  const found = collect(second.follow("lobby", { since: early.position, known }));
  await pass(100);
  server.store("lobby", "d");
  await pass(100);
  assert.deepEqual(found.texts, ["b", "c", "d"]);
  second.close();
});

test("a room with a wrong position ends, and not those that are resumed with it", async () => {
  const server = new FakeServer();
  server.answers.resume = (fields, socket) =>
    Object.values(fields.rooms).includes("wrong") ? error("invalid_request") : server.resume(fields, socket);
  const client = server.client();
  const position = server.room("lobby").position(Date.now());
  const wrong = collect(client.follow("den", { since: "wrong" }));
  const found = collect(client.follow("lobby", { since: position }));
  const odd = collect(client.follow("constructor", { since: position }));
  await pass(100);
  server.store("lobby", "here");
  server.store("constructor", "there");
  await pass(100);
  assert.equal(wrong.error.code, "invalid_request");
  assert.deepEqual([found.texts, odd.texts], [["here"], ["there"]]);
  client.close();
});

test("a frame that API Gateway refuses has an error that says whether a limit was reached", async () => {
  const { server, client } = await following();
  for (const [message, code] of [["Too Many Requests", "rate_limited"], ["Internal server error", "unavailable"]]) {
    server.answers.check = () => ({ message, connectionId: "c" });
    await Promise.all([assert.rejects(client.check({ lobby: "p" }), { code, message, temporary: true }), pass(100)]);
  }
  client.close();
});

test("a closed client follows nothing", async () => {
  const { server, client } = await following();
  client.close();
  const late = ["den", "attic"].map((room, index) => collect(client.follow(room, index ? { since: "p1" } : {})));
  await pass(100);
  assert.deepEqual(late.map(({ error }) => error.code), ["closed", "closed"]);
  assert.equal(server.sockets.size, 0);
});

test("an error of a handler does not disturb the client", async () => {
  const { server, client, found } = await following();
  const thrown = [];
  const heard = (error) => thrown.push(error.message);
  process.setUncaughtExceptionCaptureCallback(heard);
  const stop = client.on("state", () => {
    throw new Error("of a handler");
  });
  server.closeAll();
  server.store("lobby", "meanwhile");
  await pass(3_000);
  stop();
  process.setUncaughtExceptionCaptureCallback(null);
  assert.deepEqual(found.texts, ["meanwhile"]);
  assert.deepEqual(new Set(thrown), new Set(["of a handler"]));
  client.close();
});

test("signals of followed rooms and unknown frames reach their handlers", async () => {
  const { server, client, found } = await following();
  const signals = [];
  const frames = [];
  const stop = client.on("signal", ({ name }) => signals.push(name));
  client.on("frame", ({ type }) => frames.push(type));
  server.push({ type: "signal", roomId: "lobby", name: "typing" });
  server.push({ type: "signal", roomId: "den", name: "other" });
  server.push({ type: "of a later version", roomId: "lobby" });
  await pass(10);
  stop();
  server.push({ type: "signal", roomId: "lobby", name: "stopped" });
  await pass(10);
  assert.deepEqual(signals, ["typing"]);
  assert.equal(frames.length, 4);
  assert.deepEqual(found.texts, []);
  client.close();
});

test("a room that is deleted ends for who follows it", async () => {
  const { server, client, found } = await following();
  server.push({ type: "roomDeleted", roomId: "lobby", timestamp: "2026-11-30T23:10:02.420133Z" });
  await pass(10);
  assert.equal(found.error.code, "not_found");
  client.close();
});

// Random faults: each name with its probability.
const FAULTS = { lost: 0.1, skipped: 0.05, repeated: 0.1, late: 0.2, refused: 0.05, ignored: 0.02, handshake: 0.2 };
const MESSAGES = 30;
const RUNS = Number(process.env.MODEL_RUNS ?? 60);

test(`in ${RUNS} runs with random faults no message is missed and none repeated`, async () => {
  let missing = 0;
  let repeated = 0;
  let stored = 0;
  for (let seed = 1; seed <= RUNS; seed += 1) {
    stopTime();
    startTime(seed);
    const random = randomFrom(seed + 1_000);
    let calm = false;
    const server = new FakeServer((name) => !calm && random() < FAULTS[name]);
    ["old 1", "old 2", "old 3"].forEach((text) => server.store("lobby", text));
    const settings = { checkInterval: 1e9 }; // the frames alone say what is missing
    const { client, found, room } = await following({ settings }, server);
    while (room.position === undefined) {
      await pass(500, 250);
    }
    for (let number = 0; number < MESSAGES; number += 1) {
      server.store("lobby", `${number}`);
      if (random() < 0.1) {
        server.closeAll();
      } else if (random() < 0.03) {
        server.killAll();
      }
      await pass(random() * 2_000, 100);
    }
    calm = true;
    await pass(120_000, 1_000);
    server.store("lobby", "end");
    await pass(3_000);
    const different = new Set(found.texts);
    stored += MESSAGES + 1;
    missing += MESSAGES + 1 - [...different].filter((text) => !text.startsWith("old")).length;
    repeated += found.texts.length - different.size + found.texts.filter((text) => text.startsWith("old")).length;
    assert.deepEqual([missing, repeated], [0, 0], `seed ${seed}: ${found.texts}`);
    client.close();
  }
  console.log(`stored ${stored}, missing ${missing}, repeated ${repeated}`);
});
