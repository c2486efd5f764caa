// The view #/dead-letters in Chromium. LETTERS describes what waits in the dead lane, first failed on `day`, as nothing
// else: a record that is not JSON, with `evil` in it, and `storable` messages of `room` whose cause is gone.
import assert from "node:assert/strict";
import { test } from "node:test";

import { clientOf, open, page, suitsEverybody, until } from "./page.mjs";

const { evil, room, storable, day } = JSON.parse(process.env.LETTERS);
const VIEW = "#/dead-letters";
const headers = { "access-control-allow-origin": "*" };

const move = (title) => page.getByRole("group", { name: title });
const action = (words) => page.getByRole("table", { name: /^The newest/ }).getByRole("row", { name: words });

test("without the scope ops, the view says what is needed", async () => {
  await page.route("**/console/token*", (route) => {
    const wanted = JSON.parse(route.request().postData());
    return route.continue({ postData: JSON.stringify({ ...wanted, scopes: ["chat:read"] }) });
  });
  await open(VIEW, { as: "nobody" });
  await page.getByText("it needs the scope ops").waitFor();
  assert.equal(await page.getByRole("button", { name: "Count first" }).count(), 0);
});

test("the poison record that a button makes comes to the dead lane", async () => {
  const [operator, now] = [await clientOf("olga", "ops"), new Date().toISOString()];
  await open("#/");
  const [answer] = await Promise.all([
    page.waitForResponse("**/console/poison?*"), page.getByRole("button", { name: "Make a poison record" }).click(),
  ]);
  const { text: poison } = await answer.json();
  const lane = async () => (await operator.request("GET /dead-letters", { from: now, bodies: true })).items;
  const letters = await until(lane, (found) => found.some(({ body }) => body === poison));
  const { id, reason } = letters.find(({ body }) => body === poison);
  assert.equal(reason, "not_json");
  await operator.request("POST /dead-letters/discard", { id, confirm: 1 });
});

test("letters are opened and redriven: one is back with its reason and discarded, the others are stored", async () => {
  await open(VIEW);
  await page.getByRole("button", { name: `${storable + 1} letters on ${day}` }).click();
  const table = page.getByRole("table", { name: `${storable + 1} letters`, exact: true });
  await page.getByLabel("Stream").getByRole("option", { name: "sensor-readings" }).waitFor({ state: "attached" });
  await table.getByRole("row", { name: "not_json" }).getByRole("link").click();
  const letter = page.locator(".letter");
  await letter.getByRole("heading", { name: "A letter: not_json" }).waitFor();
  await letter.getByText("failed for the first time").waitFor();
  await letter.getByText("5 tries to store it").waitFor();
  await letter.getByRole("button", { name: /^Show the body/ }).click();
  await letter.locator("pre").waitFor();
  assert.ok((await letter.locator("pre").innerText()).includes(evil));
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  await suitsEverybody();
  await letter.getByRole("link", { name: "Close" }).click();
  await letter.waitFor({ state: "detached" });

  const redrive = move("Redrive");
  await redrive.getByRole("button", { name: "Count first" }).click();
  await redrive.getByLabel("a second").fill("501");
  await redrive.getByRole("button", { name: `Redrive ${storable + 1}` }).click();
  await redrive.getByRole("alert").filter({ hasText: "allowed: messages per second, a whole number from 1 to 500" }).waitFor();
  await redrive.getByLabel("a second").fill("100");
  await redrive.getByRole("button", { name: `Redrive ${storable + 1}` }).click();
  await redrive.getByText(`${storable + 1} of ${storable + 1} moved.`).waitFor();
  await redrive.getByText(`1 came back: not_json. The retry lane is empty: ${storable} of ${storable + 1} stored.`).waitFor();
  const reader = await clientOf("importer", "chat:read");
  const { items } = await reader.request("GET /rooms/{roomId}/messages", { roomId: room, limit: 100 });
  assert.equal(items.length, storable);

  const discard = move("Discard");
  const number = discard.getByLabel("Type their number to confirm");
  await discard.getByRole("button", { name: "Count first" }).click();
  await discard.getByText("1 letter matches: 1 not_json").waitFor();
  await number.fill("2");
  await discard.getByRole("button", { name: "Discard" }).click();
  await discard.getByRole("alert").filter({ hasText: "confirm must be 1" }).waitFor();
  await number.fill("1");
  await page.keyboard.press("Enter");
  await discard.getByText("1 discarded.").waitFor();

  await action(/alice bodies of dead letters were read/).first().waitFor();
  await action(new RegExp(`alice dead letters were redriven .*${day}.* moved ${storable + 1}, failed 0`)).waitFor();
  await action(new RegExp(`alice dead letters were discarded .*${day}.* discarded 1, failed 0`)).waitFor();
});

test("a redrive of a lane that was read in part stops between two slices, and goes on after one that fails", async () => {
  const found = { count: 3, scanned: 2_000, complete: false, reasons: { storable: 3 } };
  const slices = [{ moved: 1, done: false, continuation: "the rest" }, { moved: 3, done: true, continuation: null }];
  const asked = [];
  const { promise: stopped, resolve: stop } = Promise.withResolvers();
  await page.route("**/dead-letters?*", (route) => route.fulfill({ json: { ...found, days: {}, items: [] }, headers }));
  await page.route("**/dead-letters/redrive", async (route) => {
    if (route.request().method() === "OPTIONS") {
      return route.continue();
    }
    const body = route.request().postDataJSON();
    if (body.dryRun) {
      return route.fulfill({ json: { ...found, dryRun: true }, headers });
    }
    asked.push(body);
    if (asked.length === 2) {
      return route.abort();
    }
    await stopped; // a slice takes up to 15 seconds
    return route.fulfill({ json: { startedAt: "2026-11-27T12:00:00Z", failed: 0, ...slices[Math.min(1, asked.length - 1)] }, headers });
  });
  await open(VIEW);
  const redrive = move("Redrive");
  await redrive.getByRole("button", { name: "Count first" }).click();
  await redrive.getByText("3 letters match: 3 storable").waitFor();
  await page.getByText("Only 2,000 letters were read: numbers and lists are of these.").waitFor();
  await redrive.getByLabel("a second").fill("1");
  await redrive.getByRole("button", { name: "Redrive all, at least 3" }).click();
  await redrive.getByRole("progressbar").waitFor();
  await redrive.getByRole("button", { name: "Stop" }).click();
  await redrive.getByText("It stops after this slice").waitFor();
  stop();
  await redrive.getByText("Stopped. What was moved stays moved.").waitFor();
  await redrive.getByText("1 moved.").waitFor();
  await redrive.getByRole("button", { name: "Go on" }).click();
  await redrive.getByText("How many letters the last slice moved is not known.").waitFor();
  await redrive.getByText("1 moved.").waitFor();
  await redrive.getByRole("button", { name: "Go on" }).click();
  await redrive.getByText("3 moved.").waitFor();
  assert.deepEqual(asked, [{ rate: 1 }, { continuation: "the rest" }, { continuation: "the rest" }]);
});

test("a letter that is gone, an empty lane and one that does not answer are said in words", async () => {
  let isAway = true;
  await page.route("**/dead-letters?*", (route) => isAway
    ? route.abort()
    : route.fulfill({ json: { count: 0, scanned: 0, complete: true, reasons: {}, days: {}, items: [] }, headers }));
  await open(`${VIEW}/none`);
  const again = page.getByRole("alert").filter({ hasText: "no answer" }).getByRole("button", { name: "Try again" });
  await again.nth(1).waitFor(); // of the lane, and of the letter
  isAway = false;
  await again.nth(1).click();
  await page.getByText("This letter is not here.").waitFor();
  await again.click();
  await page.getByText("The dead lane is empty.").waitFor();
});

test("a letter with times that are none opens, and a view that fails says so in its place only", async () => {
  const letter = {
    id: "letter-1-of-2", reason: "not_json", message: "it is not JSON", stream: "unknown", lane: "retry", attempts: 5,
    received: 1, firstFailedAt: "yesterday", lastSentAt: "", redrivenAt: "soon", events: 2, bodyCharacters: 3,
  };
  const answer = { items: [letter], days: {}, count: 1, scanned: 1, complete: true, reasons: { not_json: 1 } };
  await page.route("**/dead-letters?*", (route) => route.fulfill({ headers, json: answer }));
  await open(`${VIEW}/${letter.id}`);
  await page.locator(".letter").getByText("yesterday").waitFor();
  const table = page.getByRole("table", { name: "1 letter", exact: true });
  await table.waitFor();
  const rows = await table.getByRole("row").evaluateAll((all) =>
    all.map((row) => Array.from(row.cells, (cell) => cell.textContent.trim())));
  assert.deepEqual(rows, [
    ["first failed", "reason", "stream", "events", "tries", "letter", "why"],
    ["yesterday", "not_json", "unknown", "2", "5", "letter-1", "it is not JSON"],
  ]);

  answer.items = [null];
  await open(`${VIEW}/another`);
  await page.getByRole("alert").getByText("It did not work").first().waitFor();
  await page.getByRole("link", { name: "Overview" }).click();
  await page.getByText("Is everything kept?").waitFor();
  await page.unroute("**/dead-letters?*");
});
