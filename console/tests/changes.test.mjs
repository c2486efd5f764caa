// Messages are edited and deleted in a room, and the other user sees it.
import assert from "node:assert/strict";
import { test } from "node:test";

import { clientOf, mark, open, roomHash } from "./rooms.mjs";

/** Opens what one can do with a message, by its button. */
async function menu(reader, text) {
  await reader.message(text).hover();
  await reader.message(text).getByRole("button", { name: /^Actions for the message/ }).click();
}

test("an author edits a message, sees its earlier texts, and deletes it; others see the text, then a stub", async () => {
  const roomId = `change-${mark()}`;
  const alice = await open("alice", roomHash(roomId));
  const bob = await open("bob", roomHash(roomId));
  const [first, second] = [`first ${mark()}`, `<b>second</b> ${mark()}`];
  await alice.say(first);
  await bob.message(first).waitFor();
  await alice.message(first).getByText("stored · main lane").waitFor();
  await menu(bob, first);
  await bob.page.getByRole("button", { name: "Reply", exact: true }).waitFor();
  assert.equal(await bob.page.getByRole("button", { name: /^(Edit|Delete)$/ }).count(), 0, "others change nothing");
  await bob.page.keyboard.press("Escape");

  await menu(alice, first);
  await alice.page.getByRole("button", { name: "Edit", exact: true }).click();
  await alice.page.getByRole("textbox", { name: "The new text" }).fill(second);
  await alice.draw("rooms-edit");
  await alice.page.keyboard.press("Enter");
  for (const each of [alice, bob]) {
    await each.message(second).getByText("edited", { exact: true }).waitFor();
    assert.equal(await each.message(first).count(), 0);
    assert.equal(await each.log.locator("li .text b").count(), 0, "markup stays text");
  }
  await menu(alice, second);
  await alice.page.getByRole("button", { name: "Earlier texts" }).click();
  await alice.page.getByRole("list", { name: "Earlier texts" }).getByText(first).waitFor();
  await alice.draw("rooms-versions");
  await alice.page.keyboard.press("Escape");

  await menu(alice, second);
  await alice.page.getByRole("button", { name: "Delete", exact: true }).click();
  await alice.page.getByText("Delete this message?").waitFor();
  await alice.page.getByRole("button", { name: "Delete", exact: true }).click();
  for (const each of [alice, bob]) {
    await each.message("This message was deleted.").waitFor();
    assert.equal(await each.message(second).count(), 0);
  }
  assert.equal(await alice.message("This message was deleted.").getByRole("button").count(), 0);
  const later = await open("bob", roomHash(roomId));
  await later.message("This message was deleted.").waitFor();
  assert.deepEqual([...alice.errors, ...bob.errors, ...later.errors], []);
  await Promise.all([alice, bob, later].map((each) => each.close()));
});

test("the arrow up edits one's last message without a mouse, and Esc leaves it as it was", async () => {
  const roomId = `keys-${mark()}`;
  // With frames as late as on a busy machine, keys are pressed before the browser has painted.
  const late = () => {
    const soon = window.requestAnimationFrame;
    window.requestAnimationFrame = (draw) => soon(() => setTimeout(draw, 300));
  };
  const alice = await open("alice", roomHash(roomId), {}, (page) => page.addInitScript(late));
  await alice.say("helo");
  await alice.message("helo").getByText("stored").waitFor();
  const field = alice.page.getByRole("textbox", { name: /^Message to/ });
  await field.press("ArrowUp");
  await alice.page.getByRole("textbox", { name: "The new text" }).fill("nothing");
  await alice.page.keyboard.press("Escape");
  await alice.message("helo").getByRole("button", { name: /^Actions for the message/ }).waitFor();
  assert.match(await alice.page.evaluate(() => document.activeElement.ariaLabel), /^Actions for the message/);
  await field.press("ArrowUp");
  await alice.page.getByRole("textbox", { name: "The new text" }).waitFor();
  await alice.page.keyboard.press("End");
  await alice.page.keyboard.type(" world");
  await alice.page.keyboard.press("Enter");
  await alice.message("helo world").getByText("edited", { exact: true }).waitFor();
  await alice.close();
});

test("a refused edit says why, and an owner deletes the message of a member", async () => {
  const [roomId, user] = [`owned-${mark()}`, `guest-${mark()}`];
  const alice = await clientOf("alice", "chat:read", "chat:write");
  const guest = await clientOf(user, "chat:read", "chat:write");
  await alice.request("PUT /rooms/{roomId}", { roomId, kind: "members" });
  await alice.request("PUT /rooms/{roomId}/members/{userId}", { roomId, userId: user });
  await guest.request("PUT /rooms/{roomId}/members/{userId}", { roomId, userId: user });
  await guest.send(roomId, "from a guest");
  const owner = await open("alice", roomHash(roomId));
  await owner.say("from the owner");
  await owner.message("from the owner").getByText("stored").waitFor();
  await owner.page.route(/messages\/[^/]+$/, (route) => route.request().method() === "PATCH"
    ? route.fulfill({ status: 409, json: { error: { code: "conflict", message: "refused by the test" } }, headers: { "access-control-allow-origin": "*" } })
    : route.continue());
  await menu(owner, "from the owner");
  await owner.page.getByRole("button", { name: "Edit", exact: true }).click();
  await owner.page.getByRole("textbox", { name: "The new text" }).fill("x");
  await owner.page.getByRole("button", { name: "Save" }).click();
  await owner.page.getByRole("alert").getByText("refused by the test").waitFor();
  await owner.page.getByRole("button", { name: "Cancel" }).click();

  await menu(owner, "from a guest");
  assert.equal(await owner.page.getByRole("button", { name: "Edit", exact: true }).count(), 0);
  await owner.page.getByRole("button", { name: "Delete", exact: true }).click();
  await owner.page.getByRole("button", { name: "Delete", exact: true }).click();
  await owner.message("This message was deleted by alice.").waitFor();
  alice.close();
  guest.close();
  await owner.close();
});
