// Events of declared streams are sent until they are accepted, and read by the stream's own names.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { FakeServer, pass, startTime, stopTime } from "./fake.mjs";

beforeEach(() => startTime());
afterEach(stopTime);

const UUID7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const LIST = [200, { items: [{ name: "sensor-readings", key: "sensor" }, { name: "doors", key: "door" }] }];
/** All that `items` gives; Node 20 has no `Array.fromAsync`. */
async function all(items) {
  const found = [];
  for await (const each of items) {
    found.push(each);
  }
  return found;
}
const accepted = ({ door, eventId }) => ({ door, eventId, timestamp: "…", lane: "main" });
const refused = (code) => ({ error: { code, message: code, details: [{ field: "door", message: "is wrong" }] } });

/** The stream "doors", whose requests get the next of `answers`, and then accept all. */
function doorsOf(...answers) {
  const requests = [];
  const fetch = async (url, init) => {
    const events = JSON.parse(init.body ?? "{}").events ?? [];
    requests.push({ path: url.replace("http://fake/streams", ""), events });
    const [status, body] = (await answers.shift()) ?? [202, { results: events.map(accepted) }];
    return new Response(JSON.stringify(body), { status });
  };
  const client = new FakeServer().client({ fetch });
  return { client, doors: client.stream("doors"), requests, paths: () => requests.map(({ path }) => path) };
}

test("an event is sent until it is accepted, always under the id that it got", async () => {
  const { doors, requests } = doorsOf([503, {}], [429, refused("rate_limited")]);
  const sent = doors.send({ door: "front", eventId: undefined });
  await pass(10_000, 500);
  const { eventId, lane } = await sent;
  assert.match(eventId, UUID7);
  assert.equal(lane, "main");
  assert.deepEqual(requests, Array(3).fill({ path: "/doors/events", events: [{ door: "front", eventId }] }));
});

test("events of any number have one result each, in their order, from requests of at most 500", async () => {
  const { doors, requests } = doorsOf();
  const given = Array.from({ length: 1_200 }, (_, n) => ({ door: `door-${n}`, ...(n === 7 && { eventId: "mine" }) }));
  const sending = doors.sendMany(given.values());
  await pass(10_000, 100);
  const sent = await sending;
  assert.deepEqual(sent.map(({ event, lane }) => [event.door, lane]), given.map(({ door }) => [door, "main"]));
  assert.equal(sent[7].event.eventId, "mine");
  assert.equal(new Set(sent.map(({ event }) => event.eventId)).size, 1_200);
  assert.deepEqual(requests.map(({ events }) => events.length), [500, 500, 200]);
});

test("all who send to a stream share its requests: what they send while one is out goes together in the next", async () => {
  const held = Promise.withResolvers();
  const { client, requests } = doorsOf(held.promise);
  const send = (door) => client.stream("doors").send({ door });
  const sent = [send("a")];
  await pass(0);
  sent.push(...["b", "c", "d"].map(send));
  held.resolve();
  await pass(1_000);
  assert.deepEqual((await Promise.all(sent)).map(({ door }) => door), ["a", "b", "c", "d"]);
  assert.deepEqual(requests.map(({ events }) => events.map(({ door }) => door)), [["a"], ["b", "c", "d"]]);
});

test("a wrong event has its error, and only those that were refused for a time are sent again", async () => {
  const results = [accepted({ eventId: "a" }), refused("unavailable"), refused("invalid_event")];
  const { doors, requests } = doorsOf([202, { results }]);
  const sending = doors.sendMany(["a", "b", "c"].map((eventId) => ({ door: "front", eventId })));
  await pass(10_000, 500);
  const sent = await sending;
  assert.deepEqual(sent.map(({ lane, error }) => lane ?? [error.code, error.field]), ["main", "main", ["invalid_event", "door"]]);
  assert.deepEqual(requests.map(({ events }) => events.map((each) => each.eventId)), [["a", "b", "c"], ["b"]]);
});

test("the key is asked for by the name that the stream gives it, which is looked up once", async () => {
  const { doors, paths } = doorsOf(LIST);
  await doors.page({ key: "front gate", limit: 2 });
  await doors.page({ user: "alice", cursor: "c" });
  await doors.page();
  await doors.window({ key: "front", from: "a", to: "b", method: "card" });
  await doors.top({ from: "a", to: "b", by: "method" });
  await doors.series({ from: "a", to: "b", step: 60 });
  await doors.activeUsers({ key: "front", from: "a", to: "b" });
  assert.deepEqual(paths(), [
    "", "/doors/events?limit=2&door=front+gate", "/doors/users/alice/events?cursor=c", "/doors/events",
    "/doors/window?from=a&to=b&method=card&door=front", "/doors/top?from=a&to=b&by=method", "/doors/series?from=a&to=b&step=60",
    "/doors/active-users?from=a&to=b&door=front",
  ]);
});

test("items follow the cursors to the end, towards newer events too", async () => {
  const page = (items, hasMore) => [200, { items, next: "older", previous: "newer", hasMore }];
  const { doors, paths } = doorsOf(LIST, page([3, 2], true), page([1], false), page([4], true), page([5], false));
  assert.deepEqual([await all(doors.items({ key: "a" })), await all(doors.items({ after: "k" }))], [[3, 2, 1], [4, 5]]);
  assert.deepEqual(paths().slice(2), ["/doors/events?door=a&cursor=older", "/doors/events?after=k", "/doors/events?cursor=newer"]);
});

test("a stream that is not declared is named beside those that are, and nothing is sent after the end", async () => {
  const { client, doors } = doorsOf(LIST, LIST);
  const missing = { code: "not_found", field: "stream", details: [{ field: "stream", message: "is not declared", got: "gates", allowed: "sensor-readings, doors" }] };
  await assert.rejects(client.stream("gates").page({ key: "a" }), missing);
  await assert.rejects(client.stream("gates").window({ key: "a", from: "a", to: "b" }), missing);
  client.close();
  assert.deepEqual((await doors.sendMany([{ door: "front" }])).map(({ error }) => error.code), ["closed"]);
});
