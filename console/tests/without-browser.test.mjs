// What the pages compute and say of numbers, in Node alone.
import assert from "node:assert/strict";
import { test } from "node:test";

import { texts } from "../dead-letters/texts.js";
import { Balance } from "../overview/balance.js";

const row = (name, lane, n) => [name, "chat", lane, n];
const main = (ready) => ({ state: "ok", queues: { "persist.chat.0": { ready } } });
const lane = (waiting) => ({ state: "holding", waiting, inFlight: 0, delayed: 0 });
const [AWAY, UNKNOWN] = [{ state: "away" }, { state: "unknown" }];
const READ = { main: main(0), retry: lane(0), dead: lane(0), parked: { state: "empty", ready: 0 } };
const balanceOf = (sums, lanes) => new Balance().take({ sums }, { lanes: { ...READ, ...lanes } }, Date.now());

test("all that is accepted is stored, whatever other events the lanes hold", () => {
  const sums = [row("Accepted", "main", 2_595), row("Stored", "main", 2_595), row("Stored", "retry", 2_329), row("Redriven", "", 3_170)];
  const { parts, redelivered } = balanceOf(sums, { main: main(7), retry: lane(841), parked: { state: "holding", ready: 2 } });
  assert.deepEqual(parts, { stored: 2_595, main: 0, retry: 0, dead: 0, parked: 0 });
  assert.equal(redelivered, 2_329);
});

test("a lane takes at most what is left, and what no lane holds is on its way", () => {
  const sums = [row("Accepted", "main", 100), row("Stored", "main", 79), row("Dead", "", 1)];
  const of = (held, retry, ready) => balanceOf(sums, { main: main(held), retry: lane(retry), parked: { state: "holding", ready } }).parts;
  assert.deepEqual(of(9, 8, 1), { stored: 79, main: 11, retry: 8, dead: 1, parked: 1 });
  assert.deepEqual(of(9, 841, 1), { stored: 79, main: 9, retry: 11, dead: 1, parked: 0 });
  assert.deepEqual(of(9, 8, 30), { stored: 79, main: 9, retry: 8, dead: 1, parked: 3 });
});

test("letters that were accepted before the start are no part of what is accepted since", () => {
  const { parts } = balanceOf([row("Accepted", "main", 1), row("Dead", "", 3)], { dead: lane(3) });
  assert.deepEqual(parts, { stored: 0, main: 0, retry: 0, dead: 1, parked: 0 });
});

test("a lane that is not read has no number where it may hold an accepted event", () => {
  const sums = [row("Accepted", "main", 120), row("Stored", "main", 100)];
  const of = (lanes) => {
    const { parts, isUnread, lost } = balanceOf(sums, lanes);
    return [isUnread, lost, parts.main, parts.retry, parts.parked];
  };
  assert.deepEqual(of({ main: AWAY, retry: UNKNOWN, parked: UNKNOWN }), [true, 0, undefined, undefined, undefined]);
  assert.deepEqual(of({ retry: UNKNOWN }), [true, 0, 0, undefined, 0]);
  assert.deepEqual(of({ main: main(15), retry: UNKNOWN }), [true, 0, 15, undefined, 0]);
  assert.deepEqual(of({ main: main(20), retry: UNKNOWN }), [false, 0, 20, 0, 0]);
  assert.deepEqual(of({ main: AWAY, retry: lane(20), parked: UNKNOWN }), [false, 0, 0, 20, 0]);
});

test("what went into the retry lane waits there, also by a status that is older", () => {
  const sums = [row("Accepted", "retry", 20), row("Stored", "retry", 5)];
  assert.equal(balanceOf(sums, { main: AWAY, parked: UNKNOWN }).parts.retry, 15);
  assert.equal(balanceOf(sums, { main: AWAY, retry: UNKNOWN, parked: UNKNOWN }).isUnread, true);
});

test("an event is lost when the lanes are empty and nothing changed for 15 seconds, and not while one is unread", () => {
  const counts = { sums: [row("Accepted", "retry", 3), row("Stored", "retry", 1)] };
  const after = (milliseconds, lanes) => {
    const balance = new Balance();
    balance.take(counts, { lanes: READ }, 0);
    return balance.take(counts, { lanes: { ...READ, ...lanes } }, milliseconds);
  };
  assert.equal(after(15_000).lost, 0);
  assert.equal(after(15_001).lost, 2);
  assert.deepEqual(after(15_001).parts, { stored: 1, main: 0, retry: 0, dead: 0, parked: 0 });
  assert.equal(after(15_001, { parked: UNKNOWN }).lost, 0);
});

test("a redrive that ends without some letters says so, and one that goes on does not", () => {
  const others = "The others were not found: another redrive, a discard or an erasure has them.";
  assert.equal(texts.moved({ moved: 0, failed: 0, done: true }, 63), `0 of 63 moved. ${others}`);
  assert.equal(texts.moved({ moved: 60, failed: 2, done: true }, 63), `60 of 63 moved. 2 could not be moved and stay. ${others}`);
  assert.equal(texts.moved({ moved: 60, failed: 3, done: true }, 63), "60 of 63 moved. 3 could not be moved and stay.");
  assert.equal(texts.moved({ moved: 0, failed: 0, done: false }, 63), "0 of 63 moved.");
  assert.equal(texts.moved({ moved: 5, failed: 0, done: true }), "5 moved.");
});
