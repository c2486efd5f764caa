// A file is put to its address without the token, until it is there, and a message names it.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { FakeServer, pass, startTime, stopTime } from "./fake.mjs";

const HEADERS = { "Content-Type": "image/png", "If-None-Match": "*" };
const begun = { id: "a2", upload: { url: "http://storage/k%2F1?X-Amz-Credential=a%2Fb", headers: HEADERS }, until: "t" };

beforeEach(() => startTime());
afterEach(stopTime);

const TOO_SLOW = "<Error><Code>RequestTimeout</Code></Error>";

/** A client whose uploads get the next of `statuses`, and then 200; 0 is no answer. One takes `minutes`. */
function clientOf(...statuses) {
  return clientAt(0, ...statuses);
}

function clientAt(minutes, ...statuses) {
  const [asked, put] = [[], []];
  const fetch = async (url, init) => {
    if (init.method === "PUT") {
      const status = statuses.shift() ?? 200;
      put.push({ url, headers: init.headers, credentials: init.credentials, text: await init.body.text() });
      await new Promise((done) => (minutes > 0 ? setTimeout(done, minutes * 60_000) : done()));
      if (status === 0) {
        throw new TypeError("fetch failed");
      }
      return new Response(status === 400 ? TOO_SLOW : "<xml>", { status });
    }
    asked.push({ url, body: init.body && JSON.parse(init.body) });
    const events = asked.at(-1).body?.events;
    if (events !== undefined) {
      return Response.json({ results: events.map(() => ({ lane: "main" })) }, { status: 202 });
    }
    return init.method === "GET" ? Response.json({ attachments: [{ id: "a2", url: "u" }] }) : Response.json(begun, { status: 201 });
  };
  return { client: new FakeServer().client({ fetch }), asked, put };
}

test("a file is put to its address with its headers and no token", async () => {
  const { client, asked, put } = clientOf();
  const file = new File(["meow"], "cat.png", { type: "image/png" });
  assert.deepEqual(await client.upload("a b", file), { id: "a2", name: "cat.png", type: "image/png", bytes: 4 });
  assert.deepEqual(asked, [{ url: "http://fake/rooms/a%20b/attachments", body: { type: "image/png", bytes: 4 } }]);
  assert.deepEqual(put, [{ url: begun.upload.url, headers: HEADERS, credentials: "omit", text: "meow" }]);
});

test("it is put again after a temporary error, and done once it is there", async () => {
  const { client, asked, put } = clientOf(0, 503, 400, 409, 412);
  const uploaded = client.upload("lobby", new TextEncoder().encode("meow"), { name: "cat.png" });
  await pass(60_000, 500);
  assert.equal((await uploaded).name, "cat.png");
  assert.deepEqual([asked.length, put.length], [1, 5]);
});

test("an address that is refused is an error", async () => {
  const { client, put } = clientOf(403);
  await assert.rejects(client.upload("lobby", new Blob(["meow"]), { name: "x" }), { code: "forbidden", temporary: false });
  assert.equal(put.length, 1);
});

test("an address that has expired is asked for again, once", async () => {
  for (const [statuses, code] of [[[0, 403, 200], undefined], [[0, 403, 0, 403], "forbidden"]]) {
    const { client, asked, put } = clientAt(6, ...statuses);
    const uploaded = client.upload("lobby", new Blob(["meow"]), { name: "x" }).then(() => undefined, (error) => error.code);
    await pass(30 * 60_000, 10_000);
    assert.equal(await uploaded, code);
    assert.deepEqual([asked.length, put.length], [2, statuses.length]);
  }
});

test("a file without a name is refused before it is sent", async () => {
  const { client, asked } = clientOf();
  await assert.rejects(client.upload("lobby", new Blob(["meow"])), { code: "invalid_request" });
  await assert.rejects(client.upload("lobby", new File(["meow"], "x"), { name: "" }), { code: "invalid_request" });
  assert.equal(asked.length, 0);
});

test("a file gets a name that names can be", async () => {
  const { client } = clientOf();
  const nameOf = async (name) => (await client.upload("lobby", new File(["x"], name))).name;
  assert.equal(await nameOf("C#\u0007\u202egpj.txt"), "C___gpj.txt");
  assert.equal(await nameOf(`${"😺".repeat(200)}.txt`), `${"😺".repeat(124)}.txt`);
});

test("a type that the platform does not take is sent as one for downloads", async () => {
  const { client } = clientOf();
  const typeOf = async (type) => (await client.upload("lobby", new Blob(["x"], { type }), { name: "x" })).type;
  assert.equal(await typeOf("text/plain;charset=utf-8"), "text/plain");
  assert.equal(await typeOf("IMAGE/PNG"), "image/png");
  for (const type of ["", "text/html", "image/svg+xml", "image/pngx"]) {
    assert.equal(await typeOf(type), "application/octet-stream");
  }
});

test("a message names attachments, and has new addresses for them", async () => {
  const { client, asked } = clientOf();
  const attachments = [await client.upload("lobby", new Blob(["x"]), { name: "x" })];
  await client.send("lobby", "look", { id: "m", attachments, replyTo: undefined });
  assert.deepEqual(asked.at(-1).body.events, [{ roomId: "lobby", message: "look", messageId: "m", attachments }]);
  assert.deepEqual(await client.attachments("lobby", "a#b"), [{ id: "a2", url: "u" }]);
  assert.equal(asked.at(-1).url, "http://fake/rooms/lobby/messages/a%23b/attachments");
});
