// Replies in a room: to a message, with the message that they answer, and as a thread.
import assert from "node:assert/strict";
import { test } from "node:test";

import { clientOf, fill, mark, open, roomHash } from "./rooms.mjs";

const button = ({ page }, name) => page.getByRole("button", { name, exact: true });
const thread = ({ page }) => page.getByRole("complementary", { name: "Thread" });

/** Answers a message, by its button or with the keys. */
async function answer(reader, text) {
  await reader.message(text).hover();
  await reader.message(text).getByRole("button", { name: /^Actions for the message/ }).press("Enter");
  await button(reader, "Reply").press("Enter");
}

test("a reply shows what it answers, and the thread has it, live", async () => {
  const roomId = `reply-${mark()}`;
  const alice = await open("alice", roomHash(roomId));
  const bob = await open("bob", roomHash(roomId));
  const [question, markup] = [`who brings plates? ${mark()}`, `<b>me</b> ${mark()}`];
  await alice.say(question);
  await bob.message(question).waitFor();

  await answer(bob, question);
  const field = bob.page.getByRole("textbox", { name: "Reply to alice", focused: true });
  await bob.page.getByText(`alice: ${question}`).waitFor();
  await bob.draw("rooms-reply");
  await field.fill(markup);
  await bob.page.keyboard.press("Enter");
  await bob.page.getByRole("textbox", { name: /^Message to/ }).waitFor();
  const reply = alice.log.getByRole("listitem").filter({ hasText: markup });
  await reply.getByRole("button", { name: `Reply to alice: ${question}` }).click();
  await thread(alice).getByText(markup).waitFor();
  assert.equal(await thread(alice).locator("li .text").count(), 2);
  assert.equal(await alice.page.locator(".text b").count(), 0, "markup stays text");

  await thread(alice).getByRole("button", { name: "Reply", exact: true }).click();
  await alice.page.getByRole("textbox", { name: "Reply to alice", focused: true }).fill("and forks");
  await alice.page.keyboard.press("Enter");
  await thread(alice).getByText("and forks").waitFor();
  await bob.say("not a reply");
  await alice.message("not a reply").waitFor();
  assert.equal(await thread(alice).locator("li .text").count(), 3);
  await alice.draw("rooms-thread");

  const client = await clientOf("bob", "chat:read", "chat:write");
  const { items } = await client.request("GET /rooms/{roomId}/messages", { roomId });
  // By their texts: two clients that write at once are in the order in which their messages were accepted.
  const [first, forks, plates] = [question, "and forks", markup].map((text) => items.find((one) => one.message === text));
  assert.deepEqual([forks, plates].map(({ replyTo }) => replyTo), [first.key, first.key]);
  await client.request("PATCH /rooms/{roomId}/messages/{key}", { roomId, key: plates.key, message: "you" });
  await thread(alice).getByText("edited", { exact: true }).waitFor();
  await alice.page.keyboard.press("Escape");
  await thread(alice).waitFor({ state: "detached" });
  await alice.message(question).first().getByRole("button", { name: "Show replies" }).waitFor();
  assert.deepEqual([...alice.errors, ...bob.errors], []);
  client.close();
  await alice.close();
  await bob.close();
});

test("Esc answers nobody, and a reply that was not accepted is one after a reload too", async () => {
  const roomId = `kept-${mark()}`;
  const alice = await open("alice", roomHash(roomId));
  await alice.say("first");
  await alice.message("first").getByText("stored").waitFor();
  await answer(alice, "first");
  await alice.page.getByRole("textbox", { name: "Reply to alice", focused: true }).press("Escape");
  await alice.page.getByRole("textbox", { name: /^Message to/, focused: true }).waitFor();
  await alice.say("second");
  await alice.message("second").getByText("stored").waitFor();

  await answer(alice, "first");
  await alice.page.context().setOffline(true);
  await alice.page.getByRole("textbox", { name: "Reply to alice" }).fill("third");
  await alice.page.keyboard.press("Enter");
  await alice.message("third").getByText("sending").waitFor();
  await alice.page.context().setOffline(false);
  await alice.page.reload();
  await alice.message("third").getByText("stored").waitFor();
  const client = await clientOf("alice", "chat:read");
  const { items } = await client.request("GET /rooms/{roomId}/messages", { roomId });
  assert.deepEqual(items.map(({ message, replyTo }) => [message, replyTo]), [
    ["third", items[2].key], ["second", undefined], ["first", undefined],
  ]);
  client.close();
  await alice.close();
});

test("a reply to a message that is not loaded says when that was, and leads to it", async () => {
  const roomId = `long-${mark()}`;
  await fill(roomId, 400);
  const bob = await clientOf("bob", "chat:read", "chat:write");
  const { items } = await bob.request("GET /rooms/{roomId}/messages", { roomId, around: "2000-01-01T00:00:00Z#0" });
  const oldest = items.at(-1);
  assert.equal(oldest.message, "message 0");
  await bob.send(roomId, "late answer", { replyTo: oldest.key });
  await bob.send(roomId, "to nothing", { replyTo: oldest.key.replace(/#m-\d+#/, "#gone#") });
  const alice = await open("alice", roomHash(roomId));
  await alice.message("late answer").getByRole("button", { name: /^Reply to a message of / }).click();
  await thread(alice).getByText(oldest.message, { exact: true }).waitFor();
  await thread(alice).getByRole("button", { name: /^Show the message of .* in the room$/ }).first().click();
  await alice.log.locator(".message.shown").getByText(oldest.message, { exact: true }).waitFor();
  await alice.draw("rooms-shown");
  await alice.page.getByRole("button", { name: /^Newest messages/ }).click();
  await alice.message("to nothing").getByRole("button", { name: /^Reply to a message of / }).click();
  await thread(alice).getByText("The first message is gone, or is not for you.").waitFor();
  await thread(alice).getByText("to nothing").waitFor();
  assert.deepEqual(alice.errors, []);
  bob.close();
  await alice.close();
});
