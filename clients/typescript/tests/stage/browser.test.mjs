// The built module in a page: Chromium loads it from one origin, and talks to the stage at others.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, before, test } from "node:test";

import { chromium } from "playwright-core";

import { clientOf, httpUrl, Proxy, tokensOf, unique } from "./stage.mjs";

const MODULE = new URL("../../dist/index.min.js", import.meta.url);
const FILES = {
  "/": ["text/html", "<!doctype html><title>Headrace</title>"],
  "/client.js": ["text/javascript", readFileSync(MODULE)],
};

const server = createServer((request, answer) => {
  const [type, body] = FILES[request.url] ?? ["text/plain", ""];
  answer.writeHead(body === "" ? 404 : 200, { "content-type": type }).end(body);
});
const proxy = new Proxy();
let browser;

before(async () => {
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  await proxy.start();
  const args = ["--no-sandbox", "--disable-dev-shm-usage"];
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args });
});

after(async () => {
  await browser?.close();
  proxy.stop();
  server.close();
});

/** A page with a client of the token in `headrace`. */
async function pageWith(token) {
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.evaluate(
    async ({ httpUrl, wsUrl, token }) => {
      const { Headrace } = await import("/client.js");
      globalThis.headrace = new Headrace({ httpUrl, wsUrl, token });
    },
    { httpUrl, wsUrl: proxy.url, token },
  );
  return page;
}

test("a page follows a room over a lost connection, and sends", async () => {
  const room = unique("room");
  const page = await pageWith(await tokensOf(unique("bob"))());
  const followed = (room) => {
    globalThis.texts = [];
    const following = headrace.follow(room);
    (async () => {
      for await (const { message } of following) {
        texts.push(message);
      }
    })();
    return following.ready;
  };
  const alice = clientOf(unique("alice"));
  const sent = [];
  const send = async (count) => {
    for (; count > 0; count -= 1) {
      const text = `message ${sent.length}`;
      await alice.send(room, text);
      sent.push(text);
    }
  };
  await page.evaluate(followed, room);
  await send(5);
  proxy.closeAll();
  await send(5);
  sent.push("of the page");
  assert.equal(await page.evaluate(async (room) => (await headrace.send(room, "of the page")).lane, room), "main");
  await page.waitForFunction((count) => texts.length >= count, sent.length);
  const texts = await page.evaluate(() => texts);
  const repeated = texts.length - new Set(texts).size;
  const missing = sent.filter((text) => !texts.includes(text)).length;
  console.log(`Chromium ${browser.version()}: ${sent.length} messages: missing ${missing}, repeated ${repeated}`);
  assert.deepEqual([missing, repeated], [0, 0]);
  assert.ok((await page.evaluate(() => headrace.opens)) > 1);
  const read = (room) => headrace.request("GET /rooms/{roomId}/messages", { roomId: room, limit: 1 });
  assert.equal((await page.evaluate(read, room)).items.length, 1);
});

test("a page sees why it is refused", async () => {
  const follow = async () => {
    try {
      for await (const _ of headrace.follow("lobby")) {
        return "a message";
      }
      return "the end";
    } catch (error) {
      return error.code;
    }
  };
  const wrong = await pageWith("x.y.z");
  assert.equal(await wrong.evaluate(follow), "unauthorized");
  const weak = await pageWith(await tokensOf(unique("bob"), { scopes: ["ski:read"] })());
  assert.equal(await weak.evaluate(follow), "forbidden");
});
