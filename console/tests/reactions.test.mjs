// Reactions to messages in a room: chosen, counted live, taken back, and refused.
import assert from "node:assert/strict";
import { test } from "node:test";

import { clientOf, mark, open, roomHash } from "./rooms.mjs";

const REACTION = /\/reaction$/;
const CORS = { "access-control-allow-origin": "*", "access-control-allow-headers": "*", "access-control-allow-methods": "*" };

/** The button of a value below a message. */
const chip = (reader, text, name) => reader.message(text).locator(".reactions").getByRole("button", { name, exact: true });

/** It, when it is one's own. */
const pressed = (reader, ...of) => chip(reader, ...of).and(reader.page.locator("[aria-pressed=true]"));

async function menu(reader, text) {
  await reader.message(text).hover();
  await reader.message(text).getByRole("button", { name: /^Actions for the message/ }).click();
}

test("both users see how many chose a value, who did, and that one takes it back", async () => {
  const roomId = `react-${mark()}`;
  const alice = await open("alice", roomHash(roomId));
  const bob = await open("bob", roomHash(roomId));
  await alice.say("it works");
  await bob.message("it works").waitFor();
  await menu(bob, "it works");
  await bob.draw("rooms-menu");
  await bob.page.getByRole("button", { name: "React with 👍" }).click();
  for (const each of [alice, bob]) {
    await chip(each, "it works", "👍, 1 reaction").waitFor();
  }
  await pressed(bob, "it works", "👍, 1 reaction").waitFor();
  await chip(alice, "it works", "👍, 1 reaction").click();
  for (const each of [alice, bob]) {
    await chip(each, "it works", "👍, 2 reactions").waitFor();
  }
  await menu(alice, "it works");
  await alice.page.getByRole("button", { name: "Reactions", exact: true }).click();
  await alice.page.getByRole("list", { name: "Who reacted" }).getByText(/bob/).waitFor();
  await alice.page.getByRole("textbox", { name: "Another one" }).fill("<b>yes</b>");
  await alice.draw("rooms-reactions");
  await alice.page.keyboard.press("Enter");
  await chip(bob, "it works", "<b>yes</b>, 1 reaction").waitFor();
  await chip(bob, "it works", "👍, 1 reaction").waitFor();
  assert.equal(await bob.log.locator(".reactions b").count(), 0, "markup stays text");

  // A page that does not know one's reaction yet takes it back all the same.
  const later = await open("bob", roomHash(roomId));
  await chip(later, "it works", "👍, 1 reaction").press("Enter");
  await chip(later, "it works", "👍, 1 reaction").waitFor({ state: "detached" });
  await chip(alice, "it works", "👍, 1 reaction").waitFor({ state: "detached" });
  assert.equal(await later.page.evaluate(() => document.activeElement.matches(".reactions button")), true, "the focus stays");
  const client = await clientOf("bob", "chat:read");
  const { items: [{ key, reactions }] } = await client.request("GET /rooms/{roomId}/messages", { roomId });
  assert.deepEqual(reactions, { "<b>yes</b>": 1 });
  const reactors = await client.request("GET /rooms/{roomId}/messages/{key}/reactions", { roomId, key });
  assert.deepEqual(reactors.items.map(({ userId, value }) => [userId, value]), [["alice", "<b>yes</b>"]]);
  assert.deepEqual([...alice.errors, ...bob.errors, ...later.errors], []);
  client.close();
  await Promise.all([alice, bob, later].map((each) => each.close()));
});

test("a refused reaction says why; one in the retry lane says so until it is stored", async () => {
  const roomId = `lanes-${mark()}`;
  const alice = await open("alice", roomHash(roomId));
  await alice.say("full");
  await alice.message("full").getByText("stored").waitFor();
  await alice.page.route(REACTION, (route) => route.fulfill({
    status: 409, headers: CORS, json: { error: { code: "conflict", message: "the message has too many reactions", details: [] } },
  }));
  await menu(alice, "full");
  await alice.page.getByRole("button", { name: "React with 🎉" }).click();
  await alice.page.getByRole("alert").getByText("the message has too many reactions").waitFor();
  await alice.page.keyboard.press("Escape");
  await alice.page.getByRole("alert").waitFor({ state: "detached" });
  assert.equal(await alice.log.locator(".reactions").count(), 0);

  // What the API answers while the broker is away. Here the reaction comes from another client, seconds later.
  await alice.page.unroute(REACTION);
  const accepted = new Date().toISOString().replace("Z", "000Z");
  await alice.page.route(REACTION, (route) => route.fulfill({ status: 202, headers: CORS, json: { lane: "retry", timestamp: accepted } }));
  await menu(alice, "full");
  await alice.page.getByRole("button", { name: "React with 🎉" }).click();
  await alice.message("full").getByText("🎉 accepted · retry lane").waitFor();
  const [other, own] = [await clientOf("bob", "chat:read", "chat:write"), await clientOf("alice", "chat:write")];
  const { items: [{ key }] } = await other.request("GET /rooms/{roomId}/messages", { roomId });
  await other.request("PUT /rooms/{roomId}/messages/{key}/reaction", { roomId, key, value: "👍" });
  await chip(alice, "full", "👍, 1 reaction").waitFor();
  await alice.message("full").getByText("🎉 accepted · retry lane").waitFor();
  await own.request("PUT /rooms/{roomId}/messages/{key}/reaction", { roomId, key, value: "🎉" });
  await chip(alice, "full", "🎉, 1 reaction").waitFor();
  await alice.message("full").getByText("retry lane").waitFor({ state: "detached" });
  await pressed(alice, "full", "🎉, 1 reaction").waitFor();
  other.close();
  own.close();
  await alice.close();
});

test("who has left a room sees its reactions, and cannot add one", async () => {
  const [roomId, user] = [`left-${mark()}`, `guest-${mark()}`];
  const alice = await clientOf("alice", "chat:read", "chat:write");
  const guest = await clientOf(user, "chat:read", "chat:write");
  await alice.request("PUT /rooms/{roomId}", { roomId, kind: "members" });
  await alice.request("PUT /rooms/{roomId}/members/{userId}", { roomId, userId: user });
  await guest.request("PUT /rooms/{roomId}/members/{userId}", { roomId, userId: user });
  await alice.send(roomId, "for members");
  const page = await open(user, roomHash(roomId));
  await page.message("for members").waitFor();
  const { items } = await guest.request("GET /rooms/{roomId}/messages", { roomId });
  const { key } = items.find(({ message }) => message === "for members");
  await alice.request("PUT /rooms/{roomId}/messages/{key}/reaction", { roomId, key, value: "👍" });
  await chip(page, "for members", "👍, 1 reaction").waitFor();
  await guest.request("DELETE /rooms/{roomId}/members/{userId}", { roomId, userId: user });
  await page.page.getByText("You left on").waitFor();
  await chip(page, "for members", "👍, 1 reaction").and(page.page.locator(":disabled")).waitFor();
  await menu(page, "for members");
  assert.equal(await page.page.getByRole("button", { name: /^(React with|Reply)/ }).count(), 0);
  await page.page.getByRole("button", { name: "Reactions", exact: true }).click();
  await page.page.getByRole("list", { name: "Who reacted" }).getByText(/alice/).waitFor();
  alice.close();
  guest.close();
  await page.close();
});
