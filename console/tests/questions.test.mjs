// The view #/questions in Chromium: its figures are those of the API.
import assert from "node:assert/strict";
import { before, test } from "node:test";

import { clientOf, mark, open, page, suitsEverybody, until } from "./page.mjs";

const MINUTE = 60_000;
const DAY = 86_400_000;
const name = mark();
// A random window, so that no other test counts in it.
const from = Math.floor((Date.now() - (2 + Math.random() * 20) * DAY) / MINUTE) * MINUTE;
const to = from + 10 * MINUTE;
const window = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
const [room, other, ad] = [`lobby-${name}`, `mill-${name}`, `ad-${name}`];
const [skier, friend] = [1, 2].map((n) => Math.floor(Math.random() * 1e9) * 10 + n);
const resort = 1 + Math.floor(Math.random() * 900_000);
let client;

before(async () => {
  const producer = await clientOf("importer", "events:write");
  client = await clientOf("analyst", "analytics:read");
  const at = (seconds) => new Date(from + seconds * 1_000).toISOString();
  const message = (roomId, userId, seconds) =>
    ({ roomId, userId, message: "hello", messageId: `${userId}-${name}-${seconds}`, timestamp: at(seconds) });
  const events = [...Array(12).keys()].map((n) => message(room, `alice-${name}`, 40 * n));
  events.push(message(room, `bob-${name}`, 5), message(other, `bob-${name}`, 130), message(other, `<b>${name}`, 599));
  await producer.request("POST /messages/batch", { events });
  await producer.request("POST /clicks/batch", {
    events: [...Array(5).keys()].map((n) => ({
      adId: ad, userId: `user-${n % 3}`, adType: n < 2 ? "banner" : "video", clickId: `c-${name}-${n}`, clickedAt: at(100 * n),
    })),
  });
  for (const [resortID, resortName] of [[resort, `Ridge ${name}`], [resort + 1, `${name} ${"R".repeat(110)}`]]) {
    await producer.request("POST /resorts/{resortID}/seasons", { resortID, year: "2031", resortName });
  }
  const ride = (resortID, skierID, liftID, time) => ({ resortID, seasonID: "2031", dayID: 7, skierID, liftID, time });
  await producer.request("POST /lift-rides/batch", {
    events: [ride(resort, skier, 3, 10), ride(resort, skier, 4, 70), ride(resort, friend, 3, 75), ride(resort + 1, friend, 5, 200)],
  });
  await until(() => client.request("GET /analytics/window", window), ({ totalMessages }) => totalMessages === 15);
  await until(() => client.request("GET /ads/{adId}/stats", { adId: ad, ...window }).catch(() => ({})), ({ clicks }) => clicks === 5);
  const day = { resortID: resort, seasonID: "2031", dayID: 7 };
  await until(() => client.request("GET /resorts/{resortID}/seasons/{seasonID}/days/{dayID}/skiers", day), ({ numSkiers }) => numSkiers === 2);
});

const address = (...parts) => `#/questions/${parts.map(encodeURIComponent).join("/")}`;
const figure = (named) => page.locator(".figure").filter({ has: page.getByText(named, { exact: true }) }).locator("b");
const cells = (caption) =>
  page.getByRole("table", { name: caption }).locator("tbody tr").evaluateAll((rows) =>
    rows.map((row) => [...row.cells].map((cell) => cell.textContent.trim())));

test("the figures of a window are the answers of the API", async () => {
  await open(address("messages", window.from, window.to));
  const answer = await client.request("GET /analytics/window", { ...window, top: 10 });
  const series = await client.request("GET /analytics/series", { ...window, step: 60 });

  await figure("messages").waitFor();
  assert.equal(await figure("messages").innerText(), String(answer.totalMessages));
  assert.equal(await figure("unique users").innerText(), String(answer.uniqueUsers));
  assert.deepEqual(await cells(/^Users with the most/), answer.topUsers.map((each) => [each.userId, String(each.messages)]));
  assert.deepEqual(await cells(/^Rooms with the most/), answer.topRooms.map((each) => [each.roomId, String(each.messages)]));
  assert.equal(await page.locator("table b").count(), 0, "a user id is text");
  await page.getByText("The same as a table").click();
  const points = (await cells("By minute")).map(([, messages, users]) => [messages, users]);
  assert.deepEqual(points, series.points.map((each) => [String(each.messages), String(each.uniqueUsers)]));
  await page.getByText(/Everything that was stored by .* is counted; what was stored later may be missing/).waitFor();
  await suitsEverybody();

  await page.getByRole("link", { name: other }).click();
  await page.waitForFunction(() => document.querySelector(".figure b")?.textContent === "2");
  assert.equal(await page.getByLabel("Room").inputValue(), other);
});

test("a window is picked in the reader's zone, and may end now", async () => {
  await open("#/questions");
  const local = (time) => new Date(time + 5.5 * 3_600_000).toISOString().slice(0, 16);
  await page.getByText("zone, Asia/").waitFor();
  await page.getByRole("button", { name: "Last 5 minutes" }).click();
  await page.getByText(/Everything that was stored by/).waitFor();
  assert.equal(await page.getByRole("button", { name: "Last 5 minutes" }).getAttribute("aria-pressed"), "true");

  await page.getByLabel("From").fill(local(to));
  await page.getByLabel("Until").fill(local(from));
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByText("From must be earlier than until.").waitFor();
  await page.getByLabel("From").fill(local(from));
  await page.getByLabel("Until").fill(local(to));
  await page.keyboard.press("Enter");

  await page.waitForFunction(() => document.querySelector(".figure b")?.textContent === "15");
  assert.ok(decodeURIComponent(page.url()).endsWith(`messages/${window.from}/${window.to}`), page.url());
});

test("a loading answer, an empty window, a refused one and a failure are said in words", async () => {
  await open(address("messages", window.from, window.to, "user", `unknown-${name}`));
  await page.getByText("No messages in this window.").waitFor();
  await page.evaluate((hash) => { location.hash = hash; }, address("messages", new Date(from - 40 * DAY).toISOString(), window.to));
  await page.getByRole("alert").filter({ hasText: "31 days" }).waitFor();

  let answer;
  const held = new Promise((done) => { answer = done; });
  // Both of its requests: the one that is refused first ends the loading.
  await page.route("**/analytics/*", async (route) => {
    await held;
    await route.continue();
  });
  await page.reload();
  await page.getByRole("status").filter({ hasText: "Counting …" }).waitFor();
  answer();
  await page.getByRole("alert").filter({ hasText: "31 days" }).waitFor();
  await page.unroute("**/analytics/*");

  const body = JSON.stringify({ error: { code: "unavailable", message: "the table did not answer", retryAfter: 0 } });
  const headers = { "access-control-allow-origin": "*", "content-type": "application/json" };
  await page.route("**/analytics/window*", (route) => route.fulfill({ status: 503, headers, body }));
  await page.evaluate((hash) => { location.hash = hash; }, address("messages", window.from, window.to));
  await page.getByRole("alert").filter({ hasText: "What was counted is kept" }).waitFor();
  await page.unroute("**/analytics/window*");
  await page.getByRole("button", { name: "Try again" }).click();
  await figure("messages").waitFor();
});

test("an estimate has its error beside it", async () => {
  const accuracy = { exact: false, userId: { uniqueWithin: 0.0081, countsTooLowByAtMost: 12 } };
  await page.route("**/analytics/window*", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), accuracy } });
  });
  await open(address("messages", window.from, window.to));
  await page.getByText("an estimate, with a standard error of 0.8 %").waitFor();
  assert.equal(await page.getByText("each too low by at most 12").count(), 1);
});

test("an ad's counts are the API's, and an unknown ad is named", async () => {
  await open(address("ads", window.from, window.to));
  await page.getByRole("link", { name: ad }).click();
  await page.getByRole("heading", { name: `Clicks on ${ad}` }).waitFor();
  const answer = await client.request("GET /ads/{adId}/stats", { adId: ad, ...window, step: 60 });
  await page.waitForFunction(() => document.querySelector(".charts") !== null);
  assert.equal(await figure("clicks").innerText(), String(answer.clicks));
  assert.equal(await figure("unique users").innerText(), String(answer.uniqueUsers));
  assert.deepEqual(await cells(/^Clicks by type/), [["video", "3"], ["banner", "2"]]);
  await suitsEverybody();
  await page.getByRole("textbox", { name: "Ad" }).fill(`none-${name}`);
  await page.keyboard.press("Enter");
  await page.getByText(`There are no clicks on an ad “none-${name}” yet.`).waitFor();
});

test("a resort's day has its skiers, lifts and verticals, and a skier's own day", async () => {
  await open(address("resort", String(resort), "2031", "7"));
  await figure("unique skiers").waitFor();
  assert.equal(await figure("unique skiers").innerText(), "2");
  assert.equal(await figure("rides").innerText(), "3");
  assert.equal(await figure("vertical").innerText(), "100");
  assert.deepEqual(await cells("Rides and vertical per lift"), [["3", "2", "60"], ["4", "1", "40"]]);
  assert.deepEqual(await cells("Rides per hour"), [["0:00", "1"], ["1:00", "2"]]);
  await page.getByRole("spinbutton", { name: "Skier" }).fill(String(friend));
  await page.keyboard.press("Enter");
  await figure("vertical of the day").waitFor();
  assert.equal(await figure("vertical of the day").innerText(), "80");
  assert.equal(await figure("rides of the day").innerText(), "1");
  await suitsEverybody();
  await page.getByRole("spinbutton", { name: "Season", exact: true }).fill("2032");
  await page.keyboard.press("Enter");
  await page.getByText("The season 2032 is not known here.").waitFor();
});
