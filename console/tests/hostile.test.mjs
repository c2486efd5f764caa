// What others write into the address, ids, names and letters is text in every view. LETTERS: `hostile` letters have
// `evil` in whatever a record can have, and failed on `evilDay`.
import assert from "node:assert/strict";
import { before, test } from "node:test";

import { clientOf, mark, open, page, until } from "./page.mjs";

const { evil, evilDay, hostile } = JSON.parse(process.env.LETTERS);
const name = `<x-evil>${mark()}`; // ids have no spaces
const minute = Math.floor(Date.now() / 60_000 - 1_440 * (2 + Math.random() * 20)) * 60_000;
const [from, time, to] = [0, 30_000, 60_000].map((more) => new Date(minute + more).toISOString());
const address = (...parts) => `#/${parts.map(encodeURIComponent).join("/")}`;

before(async () => {
  const [producer, analyst] = [await clientOf("importer", "events:write"), await clientOf("analyst", "analytics:read")];
  const message = { roomId: name, userId: name, username: evil, message: evil, messageId: mark(), timestamp: time };
  await producer.request("POST /messages/batch", { events: [message] });
  await producer.request("POST /clicks/batch", { events: [{ adId: name, userId: name, adType: "banner", clickId: mark(), clickedAt: time }] });
  const [resortID, year] = [1 + Math.floor(Math.random() * 900_000), "2033"];
  await producer.request("POST /resorts/{resortID}/seasons", { resortID, year, resortName: `${name} ${evil}` });
  await producer.stream("doors").send({ door: name, badge: name, heldMs: 1, timestamp: time });
  await until(() => analyst.request("GET /analytics/window", { from, to }), ({ totalMessages }) => totalMessages > 0);
  await until(() => analyst.request("GET /ads/top", { from, to }), ({ clicks }) => clicks > 0);
  await until(() => analyst.stream("doors").window({ from, to }), ({ events }) => events > 0);
});

/** The page shows `text`, and nothing in it was taken for elements. */
async function isText(text) {
  await page.getByText(text, { exact: false }).first().waitFor({ state: "attached" });
  assert.equal(await page.locator("x-evil, [onerror]").count(), 0);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
}

test("ids, names and values of events are text in every view", async () => {
  const views = [
    ["questions", "messages", from, to], ["questions", "messages", from, to, "room", name], ["questions", "ads", from, to],
    ["questions", "ads", from, to, name], ["questions", "resort"], ["streams", "doors", from, to],
    ["streams", "doors", from, to, name], ["streams", name], ["people", name],
  ];
  for (const view of views) {
    await open(address(...view));
    await isText(name);
  }
  await open(address("people", name), { as: name });
  await isText(`Yourself: ${name}`);
});

test("an event's id, and the lines of its way, are text", async () => {
  const [producer, messageId] = [await clientOf("importer", "events:write"), `${name}-2`];
  await page.route("**/console/trace?*", async (route) => {
    const { steps } = await (await route.fetch()).json();
    return route.fulfill({ json: { steps: steps.flatMap((step) => [step, { ...step, function: evil, text: evil }]) } });
  });
  await open("#/");
  await producer.request("POST /messages/batch", { events: [{ roomId: name, userId: name, message: evil, messageId, timestamp: time }] });
  await page.locator(".events .event").filter({ hasText: messageId }).press("Enter");
  await page.locator(".timeline").getByText("accepted 1 chat event").waitFor();
  await isText(messageId);
  await isText(evil);
});

test("whatever a letter has, it opens, and is text", async () => {
  await open("#/dead-letters");
  await page.getByRole("button", { name: `${hostile} letters on ${evilDay}` }).click();
  await page.getByRole("table", { name: `${hostile} letters`, exact: true }).waitFor();
  const links = page.locator(".letters tbody a");
  for (let i = 0; i < hostile; i += 1) {
    await links.nth(i).click();
    await page.waitForFunction((hash) => location.hash === hash, await links.nth(i).getAttribute("href"));
    await page.locator(".letter").getByRole("button", { name: /^Show the body/ }).click();
    await page.locator(".letter pre").waitFor();
    await isText(evil);
  }
});

test("an address that leads nowhere says so, and harms no view", async () => {
  const nowhere = ["#%", "#nowhere", "#/constructor", "#/toString", "#/__proto__", "#/hasOwnProperty", "#/rooms/%", "#/%E0%A4%A", address(evil)];
  for (const hash of nowhere) {
    await open(hash);
    await page.locator(".empty").getByText("There is no such page").waitFor();
  }
  await open("#/__proto__", { anew: true });
  await page.locator(".empty").getByRole("link", { name: "Overview" }).click();
  await page.getByText("Is everything kept?").waitFor();
  const windows = ["__proto__", "messages/last/1e308", "messages/last/Infinity", "messages/last/-1", "messages/%/%", "ads/last/0x10"];
  for (const asked of windows) {
    await open(`#/questions/${asked}`);
    await page.locator("[aria-pressed=true]").getByText("Last hour").waitFor();
  }
  await open("#/dead-letters/%");
  await page.getByText("This letter is not here.").waitFor();
});
