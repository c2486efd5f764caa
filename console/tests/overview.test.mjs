// The first screen: with readings whose numbers are known it must show exactly these, and the way of a real event.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isDeepStrictEqual } from "node:util";

import { clientOf, mark, open, page, pass, suitsEverybody, until, where } from "./page.mjs";

const STEP = 5; // seconds of one point
const QUIET_AND_MORE = 16_000; // milliseconds
const headers = { "access-control-allow-origin": "*" };

const EMPTY = {
  main: { state: "ok", queues: { "persist.chat.0": { ready: 0 } } }, retry: { state: "empty" }, dead: { state: "empty" },
  parked: { state: "empty", ready: 0 },
};
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

const lane = (name) => page.locator(".lane-row").filter({ has: page.locator("b").getByText(name, { exact: true }) });
const chart = (name, title) => lane(name).getByRole("img", { name: new RegExp(`^${title}, newest: `) });
const newest = async (name, title) => (await chart(name, title).getAttribute("aria-label")).split("newest: ")[1];
const text = async (found) => (await found.innerText()).replaceAll(/\s+/g, " ").trim();
const parts = () => page.locator(".equation .part").evaluateAll((all) => all.map((part) => part.innerText.replaceAll(/\s+/g, " ").trim()));
const told = (words) => page.getByRole("log", { name: "Try it" }).getByText(words);

describe("with known readings", () => {
  let reading; // what the page reads; a test may change it

  /** The first screen, once it shows `accepted` events. */
  async function shown(status, sums, accepted) {
    reading = { status, sums, passed: 0 };
    await page.route("**/status", (route) => route.request().method() === "GET"
      ? route.fulfill({ json: reading.status, headers })
      : route.continue());
    await page.route("**/console/counts*", (route) => {
      const start = (Math.floor((Date.now() + reading.passed) / 1_000 / STEP) - 3) * STEP;
      return route.fulfill({ json: { sums: reading.sums, series: { start, step: STEP, rows: ROWS }, events: [] } });
    });
    await open("#/", { anew: true });
    await page.locator(".term").filter({ hasText: `${accepted} accepted` }).waitFor();
  }

  async function later(milliseconds) {
    reading.passed += milliseconds;
    await pass(milliseconds);
  }

  test("the first screen shows the numbers of lanes, circuit breakers and probes", async () => {
    await shown(STATUS, SUMS, 110);
    assert.deepEqual(await parts(), ["= 90 stored", "+ 9 main lane", "+ 8 retry lane", "+ 2 dead lane", "+ 1 parked"]);
    assert.equal(await text(page.locator(".verdict b")), "✓ lost 0");
    assert.match(await text(page.locator(".balance .note")), /The dead lane holds 1 more: /);

    const holds = { main: ["degraded", "7"], retry: ["holding", "8"], dead: ["holding", "3"], parked: ["holding", "1"] };
    for (const [name, [state, number]] of Object.entries(holds)) {
      assert.equal(await text(lane(name).locator("p").first()), `${name} ${state}`);
      assert.equal(await text(lane(name).locator(".holds")), `${number} in it`);
    }
    assert.equal(await newest("main", "rate"), "accepted 6/s, stored 3/s");
    assert.equal(await newest("retry", "rate"), "in 3/s, stored 2/s");
    assert.equal(await newest("dead", "rate"), "in 1/s, redriven 0/s");
    assert.match(await newest("main", "age"), /^longest until stored \d/);
    await page.locator(".node.bad").filter({ hasText: "dead lane" }).waitFor();

    const checks = page.locator(".checks dd");
    assert.equal(await text(checks.nth(0)), "the retry lane");
    assert.equal(await text(checks.nth(1)), "open in 2 environments");
    assert.equal(await text(checks.nth(2)), "missing newest 190 s old");

    // How long a lane holds something is counted by the page, in points of which the last is not shown.
    for (let time = 0; time < 3; time += 1) {
      await later(600 * STEP); // so that each point has a reading
      await page.waitForResponse("**/status");
    }
    await page.waitForFunction((label) => document.querySelector(`[aria-label^="${label}"]`)?.ariaLabel.match(/[1-9]/), "age, newest: holding for");
    reading.status = {
      ...STATUS, accepting: "main", lanes: EMPTY,
      breakers: { state: "ok", environments: [{ state: "closed" }] },
      probes: { state: "ok", queues: { "persist.chat.0": { state: "ok", ageSeconds: 7.4 } } },
    };
    await lane("dead").getByText("empty", { exact: true }).waitFor();
    assert.equal(await text(lane("dead").locator(".holds")), "0 in it");
    assert.equal(await text(checks.nth(0)), "the main lane");
    assert.equal(await text(checks.nth(1)), "ok");
    assert.equal(await text(checks.nth(2)), "ok newest 7 s old");
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
    await shown(status, SUMS, 110);
    for (const [name, state, number] of [["main", "away", "?"], ["retry", "unknown", "?"], ["dead", "holding", "3"], ["parked", "unknown", "?"]]) {
      assert.equal(await text(lane(name).locator("p").first()), `${name} ${state}`);
      assert.equal(await text(lane(name).locator(".holds")), `${number} in it`);
    }
    await page.locator(".node.bad").filter({ hasText: "RabbitMQ" }).getByText("away").waitFor();
    await page.locator(".node").filter({ hasText: "retry lane" }).getByText("? waiting").waitFor();
    assert.match(await newest("parked", "in it"), /^records –$/);
    assert.deepEqual(await parts(), ["= 90 stored", "+ ? main lane", "+ ? retry lane", "+ 2 dead lane", "+ ? parked"]);
    assert.match(await text(page.locator(".verdict")), /^\? not read .* does not say what it holds\.$/);
    assert.equal(await text(page.locator(".checks dd").nth(1)), "unknown");
    assert.equal(await text(page.locator(".checks dd").nth(2)), "unknown");
  });

  test("a stage that is away has no verdict, and its numbers have their time", async () => {
    await shown({ ...STATUS, lanes: { ...EMPTY, retry: STATUS.lanes.dead } }, [["Accepted", "chat", "main", 110], ["Stored", "chat", "main", 110]], 110);
    await page.getByText("✓ lost 0").waitFor();
    assert.deepEqual(await parts(), ["= 110 stored", "+ 0 retry lane", "+ 0 dead lane", "+ 0 parked"]);
    assert.match(await text(page.locator(".balance .note")), /The retry lane holds 3 more: /);
    await page.route("**/status", (route) => route.abort());
    await page.getByRole("alert").getByText(/What it shows is of \d\d:\d\d:\d\d\./).waitFor();
    assert.equal(await text(page.locator(".verdict")), "? not read");
  });

  test("a killed broker is back when the status says so, and not earlier", async () => {
    const kills = [];
    await page.route("**/kill?*", (route) => {
      kills.push(route.request().postDataJSON());
      return route.fulfill({ json: { message: "RabbitMQ" } });
    });
    await shown({ ...STATUS, accepting: "main", lanes: EMPTY }, SUMS, 110);
    const kill = page.getByRole("button", { name: "Kill RabbitMQ" });
    await kill.click();
    await told("RabbitMQ is killed.").waitFor();
    await page.waitForResponse("**/status"); // from before the outage
    assert.ok(await kill.isDisabled());
    reading.status = { ...STATUS, accepting: "retry" };
    await page.locator(".checks dd").getByText("the retry lane").waitFor();
    assert.equal(await told("RabbitMQ answers again.").count(), 0);
    reading.status = { ...STATUS, accepting: "main" };
    await told("RabbitMQ answers again.").waitFor();
    assert.ok(await kill.isEnabled());
    assert.deepEqual(kills, [{ service: "RabbitMQ", seconds: 10 }]);
  });

  test("an event that is neither stored nor in a lane counts as lost, once it is not on its way any more", async () => {
    await shown({ ...STATUS, lanes: EMPTY }, [["Accepted", "chat", "main", 100], ["Stored", "chat", "main", 99]], 100);
    await page.locator(".verdict.good").waitFor();
    assert.equal(await text(page.locator(".equation .part").nth(1)), "+ 1 main lane");
    await later(QUIET_AND_MORE);
    await page.locator(".verdict.bad").waitFor();
    assert.match(await text(page.locator(".verdict b")), /^✕ .*1/);
  });
});

test("an event opens as a timeline, with each step that the logs have", async () => {
  const [roomId, reader, writer] = [`timed-${mark()}`, await clientOf("carol", "chat:read"), await clientOf("alice", "chat:write")];
  await reader.follow(roomId).ready; // so that a live copy is sent
  await open("#/");
  const { messageId } = await writer.send(roomId, "hello");
  await page.locator(".events .event").filter({ hasText: messageId }).press("Enter");

  const [address, secret] = where.console_url.split("#");
  const logged = async () => {
    const answer = await fetch(`${address}console/trace?id=${messageId}&secret=${secret}`);
    return (await answer.json()).steps.map((step) => step.text);
  };
  const shown = async () => [await page.locator(".timeline b").allTextContents(), await logged()];
  // A live copy is a step too, and so is one whose connection is gone: as many lines as there are.
  const [steps] = await until(shown, ([lines, found]) => lines.some((line) => line.startsWith("stored")) && isDeepStrictEqual(lines, found));
  for (const step of ["received", "published", "accepted 1 chat event, lane main", "stored 1 chat event, lane main"]) {
    assert.ok(steps.includes(step), `${step} is not in ${steps}`);
  }
  await suitsEverybody();
  reader.close();
  writer.close();
});

test("traffic is seen to flow, and nothing moves for those who do not want it", async () => {
  await open("#/");
  const moving = () => page.evaluate(() => document.getAnimations().length);
  await page.getByRole("button", { name: "Send traffic" }).click();
  await page.waitForFunction(() => document.getAnimations().length > 0);
  await page.emulateMedia({ reducedMotion: "reduce" });
  assert.equal(await moving(), 0);
  await told("100 messages to #traffic were accepted").waitFor();
});
