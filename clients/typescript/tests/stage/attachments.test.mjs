// A file goes to a local stage and comes back, with a live message and with a page.
import assert from "node:assert/strict";
import { test } from "node:test";

import { clientOf, sleep, unique } from "./stage.mjs";

test("a file is uploaded, named by a message, and read by another user", { timeout: 60_000 }, async () => {
  const roomId = unique("files");
  const [alice, bob] = [clientOf(unique("alice")), clientOf(unique("bob"))];
  await alice.request("PUT /rooms/{roomId}", { roomId, kind: "open" });
  const following = bob.follow(roomId);
  await following.ready;

  const notes = await alice.upload(roomId, new Blob(["bring plates"], { type: "text/plain" }), { name: "notes.txt" });
  await alice.send(roomId, "my notes", { attachments: [notes] });
  const { value: live } = await following[Symbol.asyncIterator]().next();
  assert.deepEqual(live.attachments, [notes]);

  const [found] = await bob.attachments(roomId, live.key);
  const { url, ...rest } = found;
  assert.deepEqual(rest, notes);
  const answer = await fetch(url);
  assert.equal(await answer.text(), "bring plates");
  assert.match(answer.headers.get("content-disposition"), /^attachment; .*notes\.txt/);

  let items = [];
  while (items.length === 0) {
    ({ items } = await bob.request("GET /rooms/{roomId}/messages", { roomId }));
    await sleep(100);
  }
  assert.equal(await (await fetch(items[0].attachments[0].url)).text(), "bring plates");
  await assert.rejects(bob.send(roomId, "mine", { attachments: [notes] }), { field: "attachments[0].id" });
  [alice, bob].forEach((client) => client.close());
});
