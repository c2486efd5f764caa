// What the tests of the rooms share: browsers of users, and clients outside of them. STAGE names the stage's stage.json.
// With PICTURES, a folder, pictures of the view are written there.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before } from "node:test";
import { pathToFileURL } from "node:url";

const { chromium } = createRequire(join(process.cwd(), "package.json"))("playwright-core");
const { WebSocket } = createRequire(join(process.cwd(), "package.json"))("ws");
const { Headrace } = await import(pathToFileURL(join(process.cwd(), "dist", "index.js")));

const PATIENCE = 60_000; // milliseconds, where other work has the cores
export const where = JSON.parse(readFileSync(process.env.STAGE, "utf8"));
export const pictures = process.env.PICTURES;
/** Chromium, for the tests of one file. */
export let browser;

before(async () => {
  const args = ["--no-sandbox", "--disable-dev-shm-usage"];
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args });
});

after(async () => {
  // A test that failed has left its pages open: what they show says why.
  for (const page of browser?.contexts().flatMap((context) => context.pages()) ?? []) {
    console.log(`${page.url()} shows:\n${await page.locator("body").innerText()}`);
  }
  await browser?.close();
});

export const mark = () => Math.random().toString(36).slice(2, 8);
export const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** A client of a user, or of a trusted producer, outside of the browser. */
export async function clientOf(user, ...scopes) {
  const body = JSON.stringify({ user, scopes });
  const answer = await fetch(where.token_url, { method: "POST", body, headers: { "content-type": "application/json" } });
  const { access_token: token } = await answer.json();
  return new Headrace({ httpUrl: where.http_url, wsUrl: where.websocket_url, token, WebSocket });
}

/** Store numbered messages of Bob in a room, one each second until now, and wait until the last one can be read. */
export async function fill(roomId, count, { every = 1_000, last = Date.now() } = {}) {
  const producer = await clientOf("importer", "events:write", "chat:read");
  for (let first = 0; first < count; first += 500) {
    const events = Array.from({ length: Math.min(500, count - first) }, (_, index) => {
      const number = first + index;
      const timestamp = new Date(last - (count - number) * every).toISOString();
      return { roomId, userId: "bob", username: "bob", message: `message ${number}`, messageId: `m-${number}`, timestamp };
    });
    const { results } = await producer.request("POST /messages/batch", { events });
    assert.ok(results.every(({ lane }) => lane !== undefined));
  }
  const stored = async () => {
    const page = await producer.request("GET /rooms/{roomId}/messages", { roomId, limit: 1, from: 0 }).catch(() => ({ items: [] }));
    return page.items[0]?.message === `message ${count - 1}`;
  };
  while (!(await stored())) {
    await sleep(200);
  }
  producer.close();
}

/** Wait until a reader who comes now is not told again, to be sure, of what was stored in the last seconds. */
export async function settle(roomId) {
  const reader = await clientOf("carol", "chat:read");
  const page = (query) => reader.request("GET /rooms/{roomId}/messages", { roomId, limit: 1, ...query });
  while ((await page({ since: (await page({})).position })).items.length > 0) {
    await sleep(1_000);
  }
  reader.close();
}

/** A user at a room of the console; `hash` is the address of the view. */
export async function open(user, hash, options = {}, prepare = async () => {}) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 860 }, ...options });
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  await prepare(page);
  page.setDefaultTimeout(PATIENCE);
  const [address, secret] = where.console_url.split("#");
  await page.addInitScript((stored) => Object.entries(stored).forEach((each) => sessionStorage.setItem(...each)), {
    "headrace.secret": secret, "headrace.user": user,
  });
  await page.goto(address + hash);
  const log = page.getByRole("log");
  const say = async (text) => {
    await page.getByRole("textbox", { name: /^Message to/ }).fill(text);
    await page.keyboard.press("Enter");
  };
  const message = (text) => log.getByRole("listitem").filter({ hasText: text });
  const conversation = (name) => page.getByRole("list", { name: "Conversations" }).getByRole("link").filter({ hasText: name });
  const draw = (name) => pictures && page.screenshot({ path: join(pictures, `${name}.png`) });
  return { page, errors, log, say, message, conversation, draw, close: () => context.close() };
}

export const roomHash = (roomId) => `#/rooms/${encodeURIComponent(roomId)}`;

/** The numbers in the drawn messages; they must follow each other, and each is there once. */
export async function numbers({ log }) {
  const drawn = await log.locator("li .text").allInnerTexts();
  const found = drawn.filter((text) => /^message \d+$/.test(text)).map((text) => Number(text.slice(8)));
  found.forEach((number, index) => assert.equal(number, found[0] + index, "a gap or a repeat"));
  return found;
}
