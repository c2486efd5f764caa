// A message is sent until it is accepted, with the same id, as fast as the server takes it.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { HeadraceError } from "../../dist/index.js";
import { error, FakeServer, pass, startTime, stopTime } from "./fake.mjs";

beforeEach(() => startTime());
afterEach(stopTime);

const accepted = (events) => ({
  results: events.map(({ roomId, messageId }) => ({ roomId, messageId, timestamp: "…", lane: "main" })),
});

/** A client whose HTTP requests get the next of `answers`, and then all accepted; the first can be `settings`. */
function clientOf(...answers) {
  const settings = "retryTimeout" in (answers[0] ?? {}) ? answers.shift() : {};
  const requests = [];
  const fetch = async (url, init) => {
    const events = init.body === undefined ? [] : JSON.parse(init.body).events;
    requests.push({ url, init, events, at: Date.now() });
    const [status, body, headers] = answers.shift() ?? [202, accepted(events)];
    if (status === 0) {
      throw new TypeError("fetch failed");
    }
    return new Response(JSON.stringify(body), { status, headers });
  };
  return { client: new FakeServer().client({ fetch, settings }), requests };
}

test("it resolves with the lane", async () => {
  const { client, requests } = clientOf([202, { results: [{ roomId: "lobby", messageId: "m", lane: "retry" }] }]);
  assert.equal((await client.send("lobby", "hello", { id: "m" })).lane, "retry");
  assert.equal(requests[0].url, "http://fake/messages/batch");
  assert.deepEqual(requests[0].events, [{ roomId: "lobby", message: "hello", messageId: "m" }]);
});

test("without an answer, and after 503 and 429, the same id is sent again", async () => {
  const refused = { error: { code: "rate_limited", message: "slower", details: [], retryAfter: 7 } };
  const later = { "retry-after": new Date(Date.now() + 20_000).toUTCString() };
  const { client, requests } = clientOf([0], [503, { message: "Service Unavailable" }, later], [429, refused]);
  const sent = client.send("lobby", "hello");
  await pass(60_000, 500);
  const { messageId } = await sent;
  assert.deepEqual(requests.map(({ events }) => events[0].messageId), Array(4).fill(messageId));
  assert.ok(requests[2].at - requests[1].at >= 7_000);
  assert.ok(requests[3].at - requests[2].at >= 7_000);
});

test("only the refused messages of a batch are sent again", async () => {
  const results = [
    { roomId: "lobby", messageId: "a", lane: "main" },
    { error: { code: "unavailable", message: "later", details: [] } },
    { error: { code: "invalid_event", message: "wrong", details: [{ field: "message", message: "is wrong" }] } },
  ];
  const { client, requests } = clientOf([202, { results }]);
  const sent = ["a", "b", "c"].map((id) => client.send("lobby", "hello", { id }));
  const refused = assert.rejects(sent[2], (thrown) => {
    assert.ok(thrown instanceof HeadraceError);
    assert.deepEqual([thrown.code, thrown.field, thrown.temporary], ["invalid_event", "message", false]);
    return true;
  });
  await pass(5_000, 100);
  await Promise.all([sent[0], sent[1], refused]);
  assert.deepEqual(requests.map(({ events }) => events.map((each) => each.messageId)), [["a", "b", "c"], ["b"]]);
});

test("a message for which a whole request is refused harms no other, and their order stays", async () => {
  const taken = [];
  const fetch = async (_, { body }) => {
    const { events } = JSON.parse(body);
    if (events.some(({ message }) => message === "bad")) {
      return new Response(JSON.stringify({ error: { code: "invalid_request", message: "no JSON" } }), { status: 400 });
    }
    taken.push(...events.map(({ message }) => message));
    return new Response(JSON.stringify(accepted(events)), { status: 202 });
  };
  const client = new FakeServer().client({ fetch });
  const texts = Array.from({ length: 20 }, (_, n) => (n === 7 ? "bad" : `n${n}`));
  const sending = Promise.allSettled(texts.map((text) => client.send("lobby", text)));
  await pass(5_000, 100);
  const refused = (await sending).flatMap(({ reason }, n) => (reason === undefined ? [] : [[n, reason.code]]));
  assert.deepEqual(refused, [[7, "invalid_request"]]);
  assert.deepEqual(taken, texts.filter((text) => text !== "bad"));
});

test("closing a client answers those whose message is out, and those who wait for that", async () => {
  const server = new FakeServer();
  server.answers.sendBatch = () => undefined;
  const client = server.client();
  await Promise.all([client.connect(), pass(100)]);
  const sent = [client.send("lobby", "out")];
  await pass(100);
  sent.push(client.send("lobby", "waits"), client.send("lobby", "waits too"));
  client.close();
  assert.deepEqual((await Promise.allSettled(sent)).map(({ reason }) => reason?.code), Array(3).fill("closed"));
});

const behind = [429, { error: { code: "rate_limited", message: "the stage is behind", details: [], retryAfter: 3 } }];

test("a refusal for a time is waited for, however often it comes", async () => {
  const { client, requests } = clientOf({ retryTimeout: 86_400_000 }, ...Array(100).fill(behind));
  const sent = client.send("lobby", "hello");
  await pass(3_600_000, 1_000);
  await sent;
  assert.equal(requests.length, 101);
  assert.ok(requests.slice(1).every(({ at }, index) => at - requests[index].at >= 3_000));
});

for (const refusal of [behind, [503, {}], [0]]) {
  test(`each message has its time after ${refusal[0]}, and then fails with the reason`, async () => {
    const { client, requests } = clientOf({ retryTimeout: 60_000 }, ...Array(60).fill(refusal));
    for (const _ of ["one", "another"]) {
      requests.length = 0;
      const refused = assert.rejects(client.send("lobby", "hello"), { temporary: true });
      await pass(200_000, 500);
      await refused;
      assert.ok(requests.length > 2 && requests.at(-1).at - requests[0].at < 60_000);
    }
  });
}

test("a time that is no number from its least is refused by name", () => {
  for (const wrong of [0, -1, NaN, "60", null]) {
    assert.throws(() => clientOf({ retryTimeout: wrong }), { message: `retryTimeout: ${wrong} is not a number of milliseconds from 1` });
  }
  assert.throws(() => clientOf().client.request("GET /status", {}, { retryTimeout: -1 }), /retryTimeout: -1 is not/);
});

test("messages of one turn are one request of at most 100 messages and 30 KB", async () => {
  const { client, requests } = clientOf();
  const sent = Array.from({ length: 120 }, () => client.send("lobby", "hello"));
  sent.push(...Array.from({ length: 10 }, () => client.send("lobby", "x".repeat(4_000))));
  await pass(5_000, 100);
  await Promise.all(sent);
  assert.deepEqual(requests.map(({ events }) => events.length), [100, 26, 4]);
});

test("it waits when the header RateLimit says that nothing is left", async () => {
  const { client, requests } = clientOf([202, accepted([{}]), { ratelimit: '"events"; t=4; r=0' }]);
  await client.send("lobby", "one");
  const sent = client.send("lobby", "two");
  await pass(5_000, 100);
  await sent;
  assert.ok(requests[1].at - requests[0].at >= 4_000);
});

test("over an open connection it sends frames", async () => {
  const server = new FakeServer();
  const client = server.client();
  await Promise.all([client.connect(), pass(100)]);
  server.answers.sendBatch = () => {
    delete server.answers.sendBatch;
    return error("rate_limited", 1);
  };
  const sent = client.send("lobby", "hello");
  await pass(5_000, 100);
  const { messageId } = await sent;
  const frames = server.frames.filter(({ action }) => action === "sendBatch");
  assert.deepEqual(frames.map(({ events }) => events[0].messageId), [messageId, messageId]);
  client.close();
  await assert.rejects(client.send("lobby", "too late"), { code: "closed" });
});

test("ids are UUIDv7 in ascending order, with the server's clock", async () => {
  const server = new FakeServer();
  server.answers.ping = () => ({ type: "pong", time: "2026-11-24T12:00:00Z", tokenExpiresAt: "2026-11-24T13:00:00Z" });
  const client = server.client();
  await Promise.all([client.connect(), pass(100)]);
  const ids = Array.from({ length: 5_000 }, () => client.newId());
  assert.deepEqual(ids, [...ids].sort());
  assert.equal(new Set(ids).size, ids.length);
  assert.match(ids[0], /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const milliseconds = parseInt(ids[0].replace("-", "").slice(0, 12), 16);
  assert.ok(Math.abs(milliseconds - Date.parse("2026-11-24T12:00:00Z")) < 1_000);
  client.close();
});

test("a request fills path, query and body", async () => {
  const { client, requests } = clientOf([200, {}], [200, {}]);
  await client.request("GET /rooms/{roomId}/messages", { roomId: "a b#c", limit: 2, before: undefined });
  await client.request("PUT /rooms/{roomId}", { roomId: "lobby", kind: "open" });
  assert.equal(requests[0].url, "http://fake/rooms/a%20b%23c/messages?limit=2");
  assert.equal(requests[0].init.headers.authorization, "Bearer h.p.s");
  assert.equal(requests[1].init.body, '{"kind":"open"}');
});

test("a request waits when its limit has nothing left, and one of another limit does not", async () => {
  const none = { ratelimit: '"reads";r=0;t=4' };
  const { client, requests } = clientOf([200, {}, none], [200, {}, { ratelimit: '"changes";r=9;t=5' }], [200, {}], [200, {}]);
  const read = () => client.request("GET /rooms/{roomId}/messages", { roomId: "lobby" });
  await read();
  const waiting = read();
  const change = () => client.request("PUT /rooms/{roomId}", { roomId: "lobby", kind: "open" });
  await change();
  await change();
  assert.equal(requests.length, 3);
  await pass(3_900, 100);
  assert.equal(requests.length, 3);
  await pass(200, 100);
  await waiting;
  assert.equal(requests.length, 4);
});

test("a refused token is asked for once more, and a POST is repeated only after 429", async () => {
  const { client, requests } = clientOf([401, {}], [429, {}], [503, {}]);
  const refused = assert.rejects(client.request("POST /messages/batch", { events: [] }), { status: 503 });
  await pass(5_000, 100);
  await refused;
  assert.equal(requests.length, 3);
});

test("without a WebSocket of Node, messages go over HTTP, and a connection says what it needs", async (t) => {
  const { WebSocket } = globalThis;
  t.after(() => Object.assign(globalThis, { WebSocket }));
  globalThis.WebSocket = undefined;
  const fetch = async (_, { body }) => new Response(JSON.stringify(accepted(JSON.parse(body).events)));
  const client = new FakeServer().client({ fetch, WebSocket: undefined });
  assert.equal((await client.send("lobby", "hello")).lane, "main");
  await assert.rejects(client.connect(), { code: "no_websocket" });
});

test("pages follow their cursors to the end", async () => {
  const page = (items, next) => [200, { items, next, previous: "up", hasMore: next !== null }];
  const { client, requests } = clientOf(page([1, 2], "n1"), page([3], null), page([4], "n2"), page([5], null));
  const found = [];
  for await (const item of client.items("GET /users/{userId}/rooms", { userId: "alice", limit: 2 })) {
    found.push(item);
  }
  for await (const item of client.items("GET /rooms/{roomId}/messages", { roomId: "lobby", since: "p" })) {
    found.push(item);
  }
  assert.deepEqual(found, [1, 2, 3, 4, 5]);
  assert.deepEqual(
    requests.map(({ url }) => url.replace("http://fake", "")),
    [
      "/users/alice/rooms?limit=2",
      "/users/alice/rooms?limit=2&cursor=n1",
      "/rooms/lobby/messages?since=p",
      "/rooms/lobby/messages?since=p&before=n2",
    ],
  );
});

test("a token is kept until shortly before it expires", async () => {
  const token = `x.${btoa(JSON.stringify({ iat: 1_000, exp: 1_600 })).replace(/=/g, "")}.y`;
  let asked = 0;
  const fetch = async () => new Response("{}");
  const client = new FakeServer().client({ fetch, token: async () => (asked++, token) });
  const request = () => client.request("GET /resorts", {});
  await Promise.all([request(), request()]);
  await pass(530_000, 10_000);
  await request();
  assert.equal(asked, 1);
  await pass(20_000, 10_000);
  await request();
  assert.equal(asked, 2);
});

test("a click with an id or a time under either name is sent as it is, and another gets both", async () => {
  const sent = [];
  const fetch = async (_url, init) => {
    const { events } = JSON.parse(init.body);
    sent.push(...events);
    return new Response(JSON.stringify({ results: events.map(() => ({ lane: "main" })) }), { status: 202 });
  };
  const named = [{ messageId: "m" }, { clickId: "c" }, { timestamp: 1 }, { clickedAt: "t" }];
  const clicks = [...named, { messageId: null, timestamp: null }].map((names) => ({ adId: "a", adType: "banner", ...names }));
  const sending = new FakeServer().client({ fetch }).sendMany("clicks", clicks);
  await pass(1_000, 100);
  assert.equal((await sending).length, 5);
  assert.deepEqual(sent.slice(0, 4), clicks.slice(0, 4));
  assert.deepEqual(Object.keys(sent[4]).sort(), ["adId", "adType", "clickId", "clickedAt"]);
});
