// What the rooms of the console keep, without a page: the loaded history, and who was in a room when.
import assert from "node:assert/strict";
import { test } from "node:test";

import { History } from "../rooms/history.js";
import { intervalsOf } from "../rooms/intervals.js";
import { Online } from "../rooms/online.js";

const PAGE = 4;

/** Numbers that look random, and are the same for the same seed. */
function randomOf(seed) {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

/** A room of the server. A page is what was stored when it was asked for. */
class Server {
  items = [];

  store(time) {
    const timestamp = String(time).padStart(6, "0");
    const item = { key: `${timestamp}#${this.items.length}`, timestamp, userId: "bob", messageType: "TEXT" };
    this.items = [...this.items, item].sort((one, other) => (one.key < other.key ? -1 : 1));
    return item;
  }

  page(items, isOlder) {
    const cut = isOlder ? items.slice(-PAGE) : items.slice(0, PAGE);
    return { items: cut.slice().reverse(), hasMore: cut.length < items.length };
  }

  newest() {
    const page = this.page(this.items, true);
    return { ...page, next: page.hasMore ? page.items.at(-1).key : null };
  }

  before(key) {
    const page = this.page(this.items.filter((item) => item.key < key), true);
    return { ...page, next: page.items.at(-1)?.key ?? null };
  }

  after(key) {
    const page = this.page(this.items.filter((item) => item.key > key), false);
    return { ...page, previous: page.items[0]?.key ?? key };
  }

  around(key) {
    const from = this.page(this.items.filter((item) => item.key >= key), false);
    const items = [...this.before(key).items, ...from.items].sort((a, b) => (a.key < b.key ? 1 : -1));
    const isFirst = items.length === 0 || items.at(-1).key === this.items[0].key;
    return { items, next: isFirst ? null : items.at(-1).key, previous: items[0]?.key ?? key };
  }
}

/** Pages in flight, late messages and jumps, in any order. Each message is pushed once. */
function play(seed) {
  const random = randomOf(seed);
  const server = new Server();
  for (let time = 0; time < 20; time += 1) {
    server.store(time * 10);
  }
  const history = new History("alice");
  history.begin(server.newest(), true);
  const pushed = [];
  let answer;
  const ask = (take) => { answer ??= take; };
  const moves = [
    () => pushed.push(server.store(200 + random(400))),
    () => pushed.push(server.store(random(200))), // it comes late
    () => pushed.splice(random(pushed.length), 1).forEach((item) => history.message(item)),
    () => history.older !== null && ask(((page) => () => history.addOlder(page))(server.before(history.older))),
    () => history.newer !== null && ask(((page) => () => history.addNewer(page))(server.after(history.newer))),
    () => random(4) === 0 && ask(((page) => () => history.begin(page, false))(server.around(server.items[random(server.items.length)].key))),
    () => random(8) === 0 && ask(((page) => () => history.begin(page, true))(server.newest())),
    () => {
      answer?.();
      answer = undefined;
    },
  ];
  for (let move = 0; move < 200; move += 1) {
    moves[random(moves.length)]();
    const keys = history.stored.map(({ item }) => item.key);
    assert.deepEqual(keys, [...new Set(keys)].sort(), `seed ${seed}: in order, and each once`);
  }
  answer?.();
  pushed.forEach((item) => history.message(item));
  while (!history.hasStart) {
    history.addOlder(server.before(history.older));
  }
  while (!history.hasEnd) {
    history.addNewer(server.after(history.newer));
  }
  assert.deepEqual(history.stored.map(({ item }) => item.key), server.items.map(({ key }) => key), `seed ${seed}`);
}

test("each message is there once, in any order of pages and live messages", () => {
  for (let seed = 1; seed <= 300; seed += 1) {
    play(seed);
  }
});

test("one's own message keeps its row from sending to stored, and its lane", () => {
  const history = new History("alice");
  history.begin(undefined, true);
  const row = history.send({ id: "m-1", text: "hello" }, "alice");
  row.tick = { state: "accepted", lane: "retry" };
  assert.ok(history.waits);
  history.message({ key: "1#m-1#x", messageId: "m-1", userId: "bob", messageType: "TEXT" });
  assert.ok(history.waits, "the id of another user is not one's own");
  history.message({ key: "1#m-1#y", messageId: "m-1", userId: "alice", messageType: "TEXT" });
  assert.equal(history.waits, false);
  assert.equal(history.rows()[1], row);
  assert.deepEqual([row.tick.state, row.tick.lane, row.item.key], ["stored", "retry", "1#m-1#y"]);
});

test("a message is answered when a reply to it is loaded, also by a deleted one, and none that is being sent is", () => {
  const history = new History("alice");
  const reply = { key: "2#m-2#x", userId: "bob", messageType: "TEXT", replyTo: "1#m-1#x", deletedAt: "3" };
  history.begin({ items: [{ key: "1#m-1#x", userId: "alice", message: "one", messageType: "TEXT" }], next: null }, true);
  assert.equal(history.isAnswered("1#m-1#x"), false);
  history.message(reply);
  const { item } = history.send({ id: "m-3", text: "three", replyTo: "2#m-2#x" }, "alice");
  assert.deepEqual([item.replyTo, history.isAnswered("1#m-1#x"), history.isAnswered(item.key)], ["2#m-2#x", true, false]);
});

test("a reaction is waited for until it is counted; one of the retry lane until it is among who reacted", () => {
  const history = new History("alice");
  const first = { key: "1", userId: "bob", message: "one", messageType: "TEXT" };
  history.begin({ items: [first], next: null }, true);
  const row = history.rowOf("1");
  row.reaction = { value: "👍", lane: "main", timestamp: "5" };
  history.message({ ...first, reactions: { "🎉": 1 }, reactionsAt: "4" });
  assert.ok(history.waits, "counted before it");
  history.message({ ...first, reactions: { "🎉": 1, "👍": 1 }, reactionsAt: "6" });
  assert.equal(history.waits, false);
  row.reaction = { lane: "retry", timestamp: "7" };
  history.message({ ...first, reactions: { "👍": 1 }, reactionsAt: "8" });
  assert.ok(history.waits, "what others chose was counted");
  history.message({ ...first, message: "", deletedAt: "9" });
  assert.equal(history.waits, false);
});

test("an edit and a deletion count once and in their order, however late pages and live messages come", () => {
  const history = new History("alice");
  const [first, second] = [1, 2].map((key) => ({ key: `${key}`, userId: "alice", message: "one", messageType: "TEXT" }));
  const [edited, again] = ["3", "4"].map((editedAt) => ({ ...first, message: `edit ${editedAt}`, editedAt }));
  const deleted = { ...first, message: "", deletedAt: "5", deletedBy: "alice" };
  history.begin({ items: [second, first], next: "0" }, true);
  const row = history.rowOf("1");
  row.change = { lane: "retry", timestamp: "4" };
  history.message(edited);
  assert.ok(history.waits, "an older edit is not the accepted one");
  history.message(again);
  assert.equal(history.waits, false);
  history.message(edited);
  assert.deepEqual([history.rowOf("1"), row.item.message], [row, "edit 4"]);
  history.message(deleted);
  history.addOlder({ items: [again], hasMore: false });
  assert.equal(row.item, deleted);
  assert.deepEqual([history.firstUnread(null), history.lastOwn.item], [undefined, second]);
  history.begin({ items: [second, again] }, true);
  assert.equal(history.rowOf("1").item, deleted, "a page that was asked for before the deletion");
  history.begin({ items: [second], next: "1" }, true);
  assert.deepEqual([history.unseen, history.stored.length], [0, 1]);
});

test("intervals of members are those of their joins and leaves", () => {
  const notice = (messageType, timestamp, memberId) => ({ messageType, timestamp, userId: "alice", username: "Alice", memberId });
  const notices = [
    notice("JOIN", "1", "bob"), notice("JOIN", "2", "bob"), notice("LEAVE", "3", "bob"), notice("JOIN", "5", "bob"),
    notice("LEAVE", "4", "carol"),
  ];
  const members = [
    { userId: "bob", username: "Bob", role: "member", joinedAt: "4.5" }, // since the invitation that he accepted
    { userId: "alice", username: "Alice", role: "owner", joinedAt: "0" },
  ];
  const found = intervalsOf(notices, members).map(({ userId, intervals }) => [userId, intervals]);
  assert.deepEqual(found, [
    ["alice", [{ from: "0", to: null }]],
    ["bob", [{ from: "1", to: "3" }, { from: "4.5", to: null }]],
    ["carol", [{ from: null, to: "4" }]],
  ]);
});

test("who is silent for long is not counted as here, nor is anybody after the reader has left", async () => {
  globalThis.document = { visibilityState: "visible" };
  const ago = (minutes) => new Date(Date.now() - minutes * 60_000).toISOString();
  const items = [
    { userId: "alice", connections: 1, checkedAt: ago(2) }, { userId: "bob", connections: 1, checkedAt: ago(30) },
    { userId: "carol", connections: 2 }, // she came a moment ago
  ];
  let answer = async () => ({ items, hasMore: false });
  const online = new Online({ ask: () => answer(), changed: () => {} });
  await online.look();
  assert.deepEqual([online.count, online.users.get("bob").isSure], [2, false]);
  answer = async () => { throw new Error("no connection"); };
  await online.look();
  assert.equal(online.count, 2, "after a failure, what is known stays");
  answer = async () => undefined;
  await online.look();
  assert.equal(online.count, 0);
  online.stop();
  delete globalThis.document;
});
