// Files in a room: chosen, pasted and taken away; sent and shown; with new addresses where old ones have expired.
import assert from "node:assert/strict";
import { test } from "node:test";

import { clientOf, mark, open, roomHash, sleep } from "./rooms.mjs";

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==", "base64",
);
const DOT = { name: "dot.png", mimeType: "image/png", buffer: PNG };
const NOTES = { name: "notes.html", mimeType: "text/html", buffer: Buffer.from("<script>alert(1)</script>") };

async function newRoom(name) {
  const roomId = `${name}-${mark()}`;
  const client = await clientOf("alice", "chat:read", "chat:write");
  await client.request("PUT /rooms/{roomId}", { roomId, kind: "open" });
  return { roomId, client };
}

const choose = ({ page }, ...files) => page.locator("input[type=file]").setInputFiles(files);
const toSend = ({ page }) => page.getByRole("list", { name: "Files to send" }).getByRole("listitem");
const send = ({ page }) => page.getByRole("button", { name: "Send", exact: true }).click();

/** Wait until an image is loaded. */
async function drawn(image) {
  while (!(await image.evaluate((each) => each.naturalWidth > 0))) {
    await sleep(100);
  }
}

test("files are chosen, sent and seen live, an image inside the message and others as downloads", async () => {
  const { roomId, client } = await newRoom("files");
  const [alice, bob] = [await open("alice", roomHash(roomId)), await open("bob", roomHash(roomId))];
  await choose(alice, DOT, NOTES, { ...NOTES, name: "empty.txt", buffer: Buffer.alloc(0) });
  await alice.page.getByRole("alert").getByText("empty.txt is not attached").waitFor();
  assert.equal(await toSend(alice).count(), 2);
  await alice.page.getByRole("button", { name: "Do not send dot.png" }).click();
  assert.ok(await alice.page.getByRole("textbox", { name: /^Message to/ }).evaluate((field) => field === document.activeElement));
  await choose(alice, DOT);
  await alice.draw("rooms-files-chosen");
  await send(alice);

  const message = bob.message("notes.html, dot.png");
  const image = message.getByRole("img", { name: "dot.png" });
  await message.getByRole("link", { name: "dot.png" }).waitFor();
  await drawn(image);
  assert.equal(await toSend(alice).count(), 0);
  await alice.message("notes.html, dot.png").getByRole("link", { name: /^notes\.html/ }).waitFor();
  const file = await fetch(await message.getByRole("link", { name: /^notes\.html/ }).getAttribute("href"));
  assert.match(file.headers.get("content-disposition"), /^attachment/);
  assert.equal(file.headers.get("content-type"), "application/octet-stream");
  assert.equal(await file.text(), String(NOTES.buffer));
  const [popup] = await Promise.all([bob.page.waitForEvent("popup"), image.click()]);
  await popup.waitForURL(/Signature=/);
  await bob.draw("rooms-files");

  const { items } = await client.request("GET /rooms/{roomId}/messages", { roomId });
  await client.request("DELETE /rooms/{roomId}/messages/{key}", { roomId, key: items[0].key });
  await bob.page.getByText("This message was deleted.").waitFor();
  assert.equal(await bob.log.getByRole("img", { name: "dot.png" }).count(), 0);
  assert.deepEqual([...alice.errors, ...bob.errors], []);
  client.close();
  await alice.close();
  await bob.close();
});

test("a file is pasted, a text wins over it, and an upload is tried again", async () => {
  const { roomId, client } = await newRoom("paste");
  let failures = 0;
  const alice = await open("alice", roomHash(roomId), {}, (page) =>
    page.route(/Signature=/, (route) => (route.request().method() === "PUT" && failures++ === 0 ? route.abort() : route.continue())));
  const field = alice.page.getByRole("textbox", { name: /^Message to/ });
  await field.evaluate((element) => {
    const clipboardData = new DataTransfer();
    clipboardData.items.add(new File(["read me"], "read.txt", { type: "text/plain" }));
    element.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  });
  await toSend(alice).getByText("read.txt").waitFor();
  await alice.say("look here");
  await alice.message("look here").getByText("stored").waitFor();
  await alice.message("look here").getByRole("link", { name: /^read\.txt/ }).waitFor();
  assert.ok(failures > 1);
  assert.deepEqual(alice.errors, []);
  client.close();
  await alice.close();
});

test("an expired address is asked for again, once", async () => {
  const { roomId, client } = await newRoom("expired");
  const dot = await client.upload(roomId, new Blob([PNG], { type: "image/png" }), { name: "dot.png" });
  await client.send(roomId, "a dot", { attachments: [dot] });
  let [expired, asked] = [0, 0];
  const prepare = async (page) => {
    await page.route(/Signature=/, (route) => (expired++ === 0 ? route.fulfill({ status: 403 }) : route.continue()));
    page.on("request", (request) => { asked += /attachments$/.test(new URL(request.url()).pathname) && request.method() === "GET"; });
  };
  const bob = await open("bob", roomHash(roomId), {}, prepare);
  await bob.message("a dot").first().waitFor();
  await drawn(bob.message("a dot").getByRole("img", { name: "dot.png" }));
  assert.ok(expired >= 2);
  await bob.page.reload();
  await drawn(bob.message("a dot").getByRole("img", { name: "dot.png" }));
  // The first page can be older than the message, which comes live then.
  assert.ok(asked === 1 || asked === 2, `${asked} times`);
  assert.deepEqual(bob.errors, []);
  client.close();
  await bob.close();
});

test("a message whose file takes long comes after those of the meantime", async () => {
  const { roomId, client } = await newRoom("slow");
  let release;
  const held = new Promise((done) => { release = done; });
  const alice = await open("alice", roomHash(roomId), {}, (page) => page.route(/Signature=/, async (route) => {
    await held;
    await route.continue();
  }));
  await choose(alice, NOTES);
  await alice.say("with a file");
  await alice.message("with a file").getByText("sending").waitFor();
  await client.send(roomId, "meanwhile");
  release();
  await alice.message("with a file").getByText("stored").waitFor();
  const { items } = await client.request("GET /rooms/{roomId}/messages", { roomId });
  assert.deepEqual(items.map(({ message }) => message), ["with a file", "meanwhile"]);
  assert.deepEqual(alice.errors, []);
  client.close();
  await alice.close();
});

test("a reaction leaves the addresses of files as they are", async () => {
  const { roomId, client } = await newRoom("reaction");
  const notes = await client.upload(roomId, new Blob([NOTES.buffer]), { name: "notes.html" });
  await client.send(roomId, "some notes", { attachments: [notes] });
  const newest = async () => (await client.request("GET /rooms/{roomId}/messages", { roomId })).items[0];
  while ((await newest()) === undefined) {
    await sleep(100);
  }
  let asked = 0;
  const bob = await open("bob", roomHash(roomId), {}, (page) =>
    page.on("request", (request) => { asked += request.method() === "GET" && /attachments$/.test(request.url()); }));
  const link = bob.message("some notes").getByRole("link", { name: /^notes\.html/ });
  const address = await link.getAttribute("href");
  assert.match(address, /Signature=/);
  await client.request("PUT /rooms/{roomId}/messages/{key}/reaction", { roomId, key: (await newest()).key, value: "👍" });
  await bob.message("some notes").getByText("👍").waitFor();
  assert.equal(await link.getAttribute("href"), address);
  assert.equal(asked, 0);
  assert.deepEqual(bob.errors, []);
  client.close();
  await bob.close();
});
