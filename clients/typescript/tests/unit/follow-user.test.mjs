// A followed user: whatever happens to frames and connections, the loop says what to read again.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { collect, error, FakeServer, pass, RUNS, runWithFaults, startTime, stopTime } from "./fake.mjs";

beforeEach(() => startTime());
afterEach(stopTime);

const named = ({ changed, roomId }) => (roomId === undefined ? changed : `${changed} ${roomId}`);

async function following(options = {}, server = new FakeServer()) {
  const client = server.client();
  const user = client.followUser("alice", options);
  const found = collect(user, named);
  await pass(100);
  return { server, client, user, found };
}

const frames = (server, action) => server.frames.filter((frame) => frame.action === action);

test("the loop begins with the lists, and then has each change once", async () => {
  const { server, client, user, found } = await following({}, new FakeServer((name) => name === "repeated"));
  await user.ready;
  server.tell("alice", { changed: "invitation", roomId: "den" });
  server.tell("alice", { changed: "membership", roomId: "den" });
  server.tell("bob", { changed: "membership", roomId: "attic" });
  await pass(100);
  assert.deepEqual(found.texts, ["lists", "invitation den", "membership den"]);
  assert.deepEqual(frames(server, "subscribe"), [{ action: "subscribe", userId: "alice" }]);
  client.close();
  await pass(100);
  assert.deepEqual([found.ended, found.error], [true, undefined]);
});

test("after a lost connection the client resumes the user beside its rooms", async () => {
  const { server, client, found } = await following();
  const messages = collect(client.follow("lobby"));
  server.tell("alice", { changed: "room", roomId: "lobby" });
  await pass(100);
  server.closeAll();
  server.tell("alice", { changed: "membership", roomId: "den" });
  server.store("lobby", "meanwhile");
  await pass(3_000);
  server.tell("alice", { changed: "readMark", roomId: "den" });
  await pass(100);
  assert.deepEqual(found.texts, ["lists", "room lobby", "membership den", "readMark den"]);
  assert.deepEqual(messages.texts, ["meanwhile"]);
  assert.deepEqual(Object.keys(frames(server, "resume").at(-1)).sort(), ["action", "rooms", "users"]);
  client.close();
});

test("after more than two minutes the loop says that the lists must be read", async () => {
  const { server, client, found } = await following();
  server.refusesHandshakes = true;
  server.closeAll();
  server.tell("alice", { changed: "membership", roomId: "den" });
  await pass(130_000, 1_000);
  server.refusesHandshakes = false;
  await pass(40_000, 1_000);
  server.tell("alice", { changed: "room", roomId: "den" });
  await pass(100);
  assert.deepEqual(found.texts, ["lists", "lists", "room den"]);
  client.close();
});

test("a later client goes on from a position, and reads no lists while nothing is missing", async () => {
  const { server, client, user } = await following();
  client.close();
  server.tell("alice", { changed: "membership", roomId: "den" });

  const { client: second, found } = await following({ since: user.position }, server);
  assert.deepEqual(found.texts, ["membership den"]);
  second.close();
});

test("a lost frame is asked for within a second after the next one", async () => {
  const { server, client, found } = await following();
  server.tell("alice", { changed: "membership", roomId: "den" });
  server.tell("alice", { changed: "membership", roomId: "attic" }, { lost: true });
  server.tell("alice", { changed: "membership", roomId: "hall" });
  await pass(1_200);
  assert.deepEqual(found.texts, ["lists", "membership den", "membership hall", "membership attic"]);
  client.close();
});

test("the user of another token ends the loop with the error, and no room", async () => {
  const server = new FakeServer();
  const { subscribe } = FakeServer.prototype;
  server.answers.subscribe = (fields, socket) =>
    fields.userId === undefined ? subscribe.call(server, fields, socket) : error("forbidden");
  const { client, found } = await following({}, server);
  const messages = collect(client.follow("lobby"));
  await pass(100);
  server.store("lobby", "here");
  await pass(100);
  assert.equal(found.error.code, "forbidden");
  assert.deepEqual(messages.texts, ["here"]);
  client.close();
});

test("leaving the loop unsubscribes, and the user can be followed again", async () => {
  const { server, client, user } = await following();
  assert.throws(() => client.followUser("alice"), { code: "conflict" });
  collect(client.follow("alice")); // a room with the id of the user is another one
  await user.return();
  await pass(100);
  assert.deepEqual(frames(server, "unsubscribe"), [{ action: "unsubscribe", userId: "alice" }]);
  const found = collect(client.followUser("alice"), named);
  await pass(100);
  server.tell("alice", { changed: "membership", roomId: "den" });
  await pass(100);
  assert.deepEqual(found.texts, ["lists", "membership den"]);
  client.close();
});

test(`in ${RUNS} runs with random faults, a page that reads what each change names shows what there is`, async () => {
  for (let seed = 1; seed <= RUNS; seed += 1) {
    const [truth, shown] = [new Map(), new Map()];
    await runWithFaults(seed, (client, server, random) => {
      collect(client.followUser("alice"), ({ changed, roomId }) => {
        const read = changed === "lists" ? [...truth.keys()] : [roomId];
        read.forEach((each) => shown.set(each, truth.get(each)));
      });
      return (version) => {
        const roomId = `room ${Math.floor(random() * 5)}`;
        truth.set(roomId, version);
        server.tell("alice", { changed: "room", roomId });
      };
    });
    assert.deepEqual([...shown].sort(), [...truth].sort(), `seed ${seed}`);
  }
});
