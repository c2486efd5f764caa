// The view #/streams in Chromium, on a stage with examples/streams: its figures and events are those of the API.
import assert from "node:assert/strict";
import { before, test } from "node:test";

import { clientOf, mark, open, page, suitsEverybody, until } from "./page.mjs";

const name = mark();
// A random window, so that no other test counts in it.
const from = Date.now() - Math.floor((2 + Math.random() * 20) * 86_400_000);
const at = (seconds) => new Date(from + seconds * 1_000).toISOString();
const window = { from: at(0), to: at(600) };
const [front, badge] = [`front-${name}`, `<b>${name}`];
let analyst;

before(async () => {
  const producer = await clientOf("importer", "events:write");
  analyst = await clientOf("analyst", "analytics:read");
  const opening = (n) => ({ door: n < 7 ? front : `back-${name}`, badge: n % 2 ? badge : "ann", heldMs: n * 1_001, timestamp: at(n) });
  await Promise.all([...Array(9).keys()].map((n) => producer.stream("doors").send(opening(n))));
  await producer.stream("sensor-readings").send({ sensor: front, kind: "humidity", value: -2.5, timestamp: at(9) });
  await until(() => analyst.stream("doors").window(window), ({ events }) => events === 9);
  await until(() => analyst.stream("sensor-readings").window(window), ({ events }) => events === 1);
});

const address = (stream, ...more) => `#/streams/${[stream, window.from, window.to, ...more].map(encodeURIComponent).join("/")}`;
const cells = (caption) => page.getByRole("table", { name: caption }).locator("tbody tr")
  .evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent.trim())));
const headers = { "access-control-allow-origin": "*" };

test("each declared stream has the events and sums of a window, its key, and how long it is kept", async () => {
  await open(address(""));
  await page.getByRole("link", { name: "doors" }).nth(1).waitFor();
  assert.deepEqual(await cells("What the window has of each"), [
    ["doors", "9", "heldMs 36,036", "door", "90 days", "An opening of a door."],
    ["sensor-readings", "1", "value -2.5, battery 0", "sensor", "30 days", "A value that a sensor has measured."],
  ]);
  await suitsEverybody();
});

test("a stream has its figures, most counted values and last events, and so has one of its keys", async () => {
  await open(address("doors"));
  await page.getByText("mean 4,004, from 0 to 8,008, of 9 events").waitFor();
  assert.deepEqual(await cells(/^Most events by door/), [[front, "7"], [`back-${name}`, "2"]]);
  assert.deepEqual(await cells(/^Most events by badge/), [["ann", "5"], [badge, "4"]]);
  await page.getByRole("textbox", { name: "door" }).fill(front);
  await page.keyboard.press("Enter");
  await page.getByText("The newest 7 events").waitFor();
  const { items } = await analyst.stream("doors").page({ key: front });
  assert.deepEqual((await cells("The newest 7 events")).map(([, ...fields]) => fields),
    items.map(({ door, badge, method, heldMs, eventId }) => [door, badge, method, String(heldMs), eventId]));
  assert.deepEqual(await page.locator(".figure b").allInnerTexts(), ["7", "2", "21,021"]);
  assert.equal(await page.locator("table b").count(), 0, "a user id is text");
  await suitsEverybody();
  await page.getByRole("link", { name: "Every door" }).click();
  await page.getByText("Most events by door").waitFor();
});

test("neither a secret is shown nor a field that is declared no more", async () => {
  const { items: [doors] } = await analyst.request("GET /streams", {});
  const { method, ...properties } = doors.schema.properties;
  properties.heldMs.format = "password";
  await page.route("**/streams", (route) => route.fulfill({ headers, json: { items: [{ ...doors, schema: { properties } }] } }));
  await open(address("doors", front));
  await page.getByText("Not shown: heldMs. These are secrets.").waitFor();
  assert.deepEqual((await cells("The newest 7 events")).map((row) => row.length), Array(7).fill(4));
});

test("no stream, an unknown one, an empty window and a missing scope are said in words", async () => {
  await open("#/streams/gates");
  await page.getByText("There is no stream “gates”.").waitFor();
  await open(address("doors", "nothing"));
  await page.getByText("No events in this window.").waitFor();
  await page.getByText("No event is stored yet.").waitFor();
  await page.route("**/streams", (route) => route.fulfill({ headers, json: { items: [] } }));
  await open("#/streams");
  await page.getByText("Declare one with a file in the folder streams").waitFor();
  await page.route("**/streams", (route) => route.fulfill({ status: 403, headers, json: { message: "Forbidden" } }));
  await open("#/streams");
  await page.getByText("This view needs the scope analytics:read.").waitFor();
});
