// The first screen in Chromium, with readings whose numbers are known: it must show exactly these.
import assert from "node:assert/strict";
import { test } from "node:test";

import { open } from "./rooms.mjs";

const STEP = 5; // seconds of one point
const headers = { "access-control-allow-origin": "*" };

const STATUS = {
  time: "2026-11-27T12:00:00Z",
  accepting: "retry",
  lanes: {
    main: { state: "degraded", queues: { "persist.chat.0": { ready: 3, consumers: 1 }, "persist.ski.0": { ready: 4, consumers: 0 } } },
    retry: { state: "holding", waiting: 5, inFlight: 1, delayed: 2 },
    dead: { state: "holding", waiting: 3, inFlight: 0, delayed: 0 },
    parked: { state: "holding", ready: 1 },
  },
  breakers: { state: "open", environments: [{ state: "open" }, { state: "half open" }, { state: "closed" }] },
  probes: { state: "missing", queues: { "persist.chat.0": { state: "ok", ageSeconds: 12 }, "persist.ski.0": { state: "missing", ageSeconds: 190 } } },
};
const SUMS = [
  ["Accepted", "chat", "main", 90], ["Accepted", "ski", "retry", 20], ["Accepted", "unknown", "main", 700],
  ["Stored", "chat", "main", 80], ["Stored", "chat", "retry", 10],
  ["Dead", "chat", "", 3], ["Redriven", "chat", "", 1],
];
/** Three whole points and one that is not. */
const ROWS = [
  ["Accepted", "main", [10, 20, 30, 900]], ["Stored", "main", [5, 10, 15, 900]], ["WaitSeconds", "main", [4, 2, 0.25, 90]],
  ["Accepted", "retry", [0, 5, 10, 900]], ["HandedOver", "", [0, 0, 5, 900]], ["Stored", "retry", [0, 0, 10, 900]],
  ["Dead", "", [0, 0, 5, 900]], ["Redriven", "", [0, 5, 0, 900]],
];

/** The first screen with `status` and `sums`, which a test may change while it is open. */
async function shown(status, sums) {
  const reading = { status, sums };
  const opened = await open("alice", "#/", {}, async (page) => {
    await page.route("**/status", (route) => route.request().method() === "GET"
      ? route.fulfill({ json: reading.status, headers })
      : route.continue());
    await page.route("**/console/counts*", (route) => {
      const start = (Math.floor(Date.now() / 1_000 / STEP) - 3) * STEP;
      return route.fulfill({ json: { sums: reading.sums, series: { start, step: STEP, rows: ROWS }, events: [] } });
    });
  });
  const { page } = opened;
  const lane = (name) => page.locator(".lane-row").filter({ has: page.locator("b").getByText(name, { exact: true }) });
  const chart = (name, title) => lane(name).getByRole("img", { name: new RegExp(`^${title}, newest: `) });
  const newest = async (name, title) => (await chart(name, title).getAttribute("aria-label")).split("newest: ")[1];
  const text = async (found) => (await found.innerText()).replaceAll(/\s+/g, " ").trim();
  return { ...opened, reading, lane, newest, text };
}

test("the first screen shows the numbers of lanes, circuit breakers and probes", async () => {
  const { page, reading, lane, newest, text, close } = await shown(STATUS, SUMS);
  await page.locator(".lane-row").nth(3).waitFor();
  assert.equal(await text(page.locator(".equation .term").first()), "110 accepted");
  assert.deepEqual(await page.locator(".equation .part").evaluateAll((parts) => parts.map((part) => part.innerText.replaceAll(/\s+/g, " ").trim())),
    ["= 90 stored", "+ 9 main lane", "+ 8 retry lane", "+ 2 dead lane", "+ 1 parked"]);
  assert.equal(await text(page.locator(".verdict b")), "✓ lost 0");
  assert.match(await text(page.locator(".balance .note")), /The dead lane holds 1 more, which no function accepted/);

  const holds = { main: ["degraded", "7"], retry: ["holding", "8"], dead: ["holding", "3"], parked: ["holding", "1"] };
  for (const [name, [state, number]] of Object.entries(holds)) {
    assert.equal(await text(lane(name).locator("p").first()), `${name} ${state}`);
    assert.equal(await text(lane(name).locator(".holds")), `${number} in it`);
  }
  assert.equal(await newest("main", "rate"), "accepted 6/s, stored 3/s");
  assert.equal(await newest("retry", "rate"), "in 3/s, stored 2/s");
  assert.equal(await newest("dead", "rate"), "in 1/s, redriven 0/s");
  assert.match(await newest("main", "age"), /^longest until stored \d/);

  const checks = page.locator(".checks dd");
  assert.equal(await text(checks.nth(0)), "the retry lane");
  assert.equal(await text(checks.nth(1)), "open in 2 environments");
  assert.equal(await text(checks.nth(2)), "missing newest 190 s old");

  // How long a lane holds something is counted by the page, in points of which the last is not shown.
  await page.waitForFunction((label) => document.querySelector(`[aria-label^="${label}"]`)?.ariaLabel.match(/[1-9]/), "age, newest: holding for");
  reading.status = {
    ...STATUS, accepting: "main",
    lanes: { main: { state: "ok", queues: { "persist.chat.0": { ready: 0 } } }, retry: { state: "empty" }, dead: { state: "empty" }, parked: { state: "empty", ready: 0 } },
    breakers: { state: "ok", environments: [{ state: "closed" }] },
    probes: { state: "ok", queues: { "persist.chat.0": { state: "ok", ageSeconds: 7.4 } } },
  };
  await lane("dead").getByText("empty", { exact: true }).waitFor();
  assert.equal(await text(lane("dead").locator(".holds")), "0 in it");
  assert.equal(await text(checks.nth(0)), "the main lane");
  assert.equal(await text(checks.nth(1)), "ok");
  assert.equal(await text(checks.nth(2)), "ok newest 7 s old");
  await close();
});

test("what a service does not answer is a question mark, and a broker that is away is said", async () => {
  const status = {
    ...STATUS,
    lanes: {
      main: { state: "away", reason: "the broker does not answer" }, retry: { state: "unknown", reason: "SQS does not answer" },
      dead: STATUS.lanes.dead, parked: { state: "unknown", reason: "the broker does not answer" },
    },
    breakers: { state: "unknown", reason: "the cache does not answer" },
    probes: { state: "unknown", reason: "the table does not answer" },
  };
  const { page, lane, text, close } = await shown(status, SUMS);
  await page.locator(".lane-row").nth(3).waitFor();
  for (const [name, state, number] of [["main", "away", "?"], ["retry", "unknown", "?"], ["dead", "holding", "3"], ["parked", "unknown", "?"]]) {
    assert.equal(await text(lane(name).locator("p").first()), `${name} ${state}`);
    assert.equal(await text(lane(name).locator(".holds")), `${number} in it`);
  }
  await page.locator(".node.bad").filter({ hasText: "RabbitMQ" }).getByText("away").waitFor();
  assert.equal(await text(page.locator(".checks dd").nth(1)), "unknown");
  assert.equal(await text(page.locator(".checks dd").nth(2)), "unknown");
  await close();
});

test("an event that is neither stored nor in a lane is counted as lost, once it is not on its way any more", async () => {
  const empty = { main: { state: "ok", queues: { "persist.chat.0": { ready: 0 } } }, retry: { state: "empty" }, dead: { state: "empty" }, parked: { state: "empty", ready: 0 } };
  const { page, text, close } = await shown({ ...STATUS, lanes: empty }, [["Accepted", "chat", "main", 100], ["Stored", "chat", "main", 99]]);
  await page.locator(".verdict.good").waitFor();
  assert.equal(await text(page.locator(".equation .part").nth(1)), "+ 1 main lane");
  await page.locator(".verdict.bad").waitFor();
  assert.match(await text(page.locator(".verdict b")), /^✕ .*1/);
  await close();
});
