// A followed key of a declared stream: each event comes once, and what may be missing is said.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { collect, error, FakeServer, pass, RUNS, runWithFaults, startTime, stopTime } from "./fake.mjs";

beforeEach(() => startTime());
afterEach(stopTime);

const badge = (event) => (event === "missed" ? event : event.badge);

async function following(options = {}, server = new FakeServer()) {
  const client = server.client();
  const events = client.stream("doors").follow("front", options);
  const found = collect(events, badge);
  await pass(100);
  return { server, client, events, found };
}

const frames = (server, action) => server.frames.filter((frame) => frame.action === action);

test("the loop has each event of the key once, until the client is closed", async () => {
  const { server, client, events, found } = await following({}, new FakeServer((name) => name === "repeated"));
  await events.ready;
  server.happen("doors", "front", { badge: "ann" });
  server.happen("doors", "front", { badge: "bob" });
  server.happen("doors", "back", { badge: "another key" });
  server.happen("gates", "front", { badge: "another stream" });
  await pass(100);
  assert.deepEqual(found.texts, ["ann", "bob"]);
  assert.deepEqual(server.frames.filter(({ action }) => action !== "ping"), [{ action: "follow", stream: "doors", key: "front" }]);
  client.close();
  await pass(100);
  assert.deepEqual([found.ended, found.error], [true, undefined]);
});

test("after a lost connection it goes on from its position, beside rooms and the user", async () => {
  const { server, client, found } = await following();
  const messages = collect(client.follow("front")); // a room with the name of the key is another one
  const changes = collect(client.followUser("front"), ({ changed }) => changed);
  server.happen("doors", "front", { badge: "ann" });
  await pass(100);
  server.closeAll();
  server.happen("doors", "front", { badge: "bob" });
  server.store("front", "meanwhile");
  server.tell("front", { changed: "room", roomId: "den" });
  await pass(3_000);
  server.happen("doors", "front", { badge: "cid" });
  await pass(100);
  assert.deepEqual(found.texts, ["ann", "bob", "cid"]);
  assert.deepEqual([messages.texts, changes.texts], [["meanwhile"], ["lists", "room"]]);
  client.close();
});

test("after more than two minutes the loop says what may be missing, before later events", async () => {
  const { server, client, found } = await following();
  server.refusesHandshakes = true;
  server.closeAll();
  server.happen("doors", "front", { badge: "ann" });
  await pass(130_000, 1_000);
  server.refusesHandshakes = false;
  await pass(40_000, 1_000);
  server.happen("doors", "front", { badge: "bob" });
  await pass(100);
  assert.deepEqual(found.texts, ["missed", "bob"]);
  client.close();
});

test("a later client goes on from a position", async () => {
  const { server, client, events } = await following();
  client.close();
  server.happen("doors", "front", { badge: "ann" });

  const { client: second, found } = await following({ since: events.position }, server);
  assert.deepEqual(found.texts, ["ann"]);
  second.close();
});

test("a long answer is asked for to its end", async () => {
  const server = new FakeServer();
  const [first, second] = ["ann", "bob"].map((name, n) => ({ key: `k${n}`, timestamp: `2026-11-24T09:0${n}:00Z`, badge: name }));
  const positions = ["p1763719263040112", "p1763719263040113", "p1763719263040114"];
  server.answers.follow = ({ since }) => {
    const number = positions.indexOf(since);
    return { type: "following", items: [[first], [second]][number], missed: false, hasMore: number === 0, position: positions[number + 1] };
  };
  const { client, events, found } = await following({ since: positions[0] }, server);
  assert.deepEqual([found.texts, events.position], [["ann", "bob"], positions[2]]);
  client.close();
});

test("a refused key ends its loop with the error, and no other", async () => {
  const server = new FakeServer();
  const { follow } = FakeServer.prototype;
  server.answers.follow = (fields, socket) => (fields.stream === "roofs" ? error("not_found") : follow.call(server, fields, socket));
  const { client, found } = await following({}, server);
  const position = server.room("lobby").position(Date.now());
  const [fresh, resumed] = [{}, { since: position }].map((options, n) => collect(client.stream("roofs").follow(`r${n}`, options)));
  const messages = collect(client.follow("lobby", { since: position }));
  await pass(100);
  server.happen("doors", "front", { badge: "ann" });
  server.store("lobby", "here");
  await pass(100);
  assert.deepEqual([fresh.error.code, resumed.error.code], ["not_found", "not_found"]);
  assert.deepEqual([found.texts, messages.texts], [["ann"], ["here"]]);
  client.close();
});

test("leaving the loop unfollows the key, which can then be followed again", async () => {
  const { server, client, events } = await following();
  assert.throws(() => client.stream("doors").follow("front"), { code: "conflict" });
  await events.return();
  await pass(100);
  assert.deepEqual(frames(server, "unfollow"), [{ action: "unfollow", stream: "doors", key: "front" }]);
  const found = collect(client.stream("doors").follow("front"), badge);
  await pass(100);
  server.happen("doors", "front", { badge: "ann" });
  await pass(100);
  assert.deepEqual(found.texts, ["ann"]);
  client.close();
});

test(`in ${RUNS} runs with random faults, no event is repeated, and none is missed without a word`, async () => {
  for (let seed = 1; seed <= RUNS; seed += 1) {
    const [stored, live, read] = [[], [], new Set()];
    await runWithFaults(seed, (client, server) => {
      const events = client.stream("doors").follow("front");
      collect(events, (event) => {
        if (event === "missed") {
          stored.forEach((each) => read.add(each)); // a page has them
        } else {
          live.push(event.badge);
        }
      });
      return (number) => {
        if (events.position !== undefined) {
          stored.push(number); // it is followed by now
        }
        server.happen("doors", "front", { badge: number });
      };
    });
    assert.deepEqual([...new Set(live)], live, `seed ${seed}`);
    assert.deepEqual(stored.filter((each) => !live.includes(each) && !read.has(each)), [], `seed ${seed}`);
    assert.equal(stored.at(-1), 29);
  }
});
