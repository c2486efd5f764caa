// The rooms of the console in Chromium, on a running stage: two users talk, also over a cut connection.
import assert from "node:assert/strict";
import { test } from "node:test";

import { clientOf, mark, numbers, open, roomHash, sleep, where } from "./rooms.mjs";

const LARGEST = 63_000; // bytes, compressed, with the comments of their modules

test("two browsers talk, markup stays text, and ticks say stored", async () => {
  const roomId = `talk-${mark()}`;
  const alice = await open("alice", roomHash(roomId));
  const bob = await open("bob", roomHash(roomId));
  const text = `<script>window.hacked = 1</script><img src=x onerror="window.hacked = 1">`;
  await alice.say(text);
  await alice.message(text).getByText("stored · main lane").waitFor();
  await bob.message(text).waitFor();
  await bob.say("مرحبا");
  await alice.message("مرحبا").waitFor();
  assert.equal(await alice.log.locator("li .text").last().evaluate((each) => getComputedStyle(each).direction), "rtl");
  assert.equal(await bob.page.evaluate(() => window.hacked), undefined);
  assert.equal(await bob.log.locator("script, img").count(), 0);
  await bob.say("x".repeat(1_500));
  await bob.message("xxx").getByText("stored").waitFor();
  assert.ok(await bob.log.evaluate((each) => each.scrollWidth <= each.clientWidth), "long words wrap");
  assert.equal(await bob.log.getAttribute("aria-live"), "polite");
  assert.deepEqual([...alice.errors, ...bob.errors], []);
  await alice.close();
  await bob.close();
});

test("who reads an open room without having joined it sees live messages, not only what is asked for", async () => {
  const roomId = `read-${mark()}`;
  const alice = await clientOf("alice", "chat:write");
  await alice.request("PUT /rooms/{roomId}", { roomId, kind: "open" });
  const unasked = (page) => page.route(/\/(online|messages\?since=.*)$/, (route) => route.abort());
  const bob = await open("bob", roomHash(roomId), {}, unasked);
  await bob.page.getByText("No messages yet.").waitFor();
  for (const text of ["first", "second", "third"]) {
    await alice.send(roomId, text);
    await bob.message(text).waitFor();
  }
  alice.close();
  await bob.close();
});

test("an invitation is accepted, and the members panel says who was in the room when", async () => {
  const [roomId, user] = [`plans-${mark()}`, `guest-${mark()}`];
  const alice = await open("alice", "#/rooms");
  const guest = await open(user, "#/rooms");
  await alice.page.getByRole("button", { name: "New conversation" }).click();
  await alice.page.getByRole("radio", { name: /^Members only/ }).check();
  await alice.page.getByRole("textbox", { name: "Name of the room" }).fill(roomId);
  await alice.page.getByRole("button", { name: "Open", exact: true }).click();
  await alice.message("alice joined").waitFor();
  await alice.page.getByRole("button", { name: "Members", exact: true }).click();
  await alice.page.getByRole("textbox", { name: "Invite a user" }).fill(user);
  await alice.page.getByRole("button", { name: "Invite", exact: true }).click();
  await alice.page.getByText(`${user} is invited.`).waitFor();
  await guest.page.getByText("alice invites you").waitFor();
  await guest.page.getByRole("button", { name: "Accept" }).click();
  await guest.say("thank you");
  await alice.message("thank you").waitFor();
  const member = alice.page.locator(".people > li").filter({ hasText: user });
  await member.getByText(/^since/).waitFor();
  await alice.draw("rooms-members");
  await guest.page.getByRole("button", { name: "Members", exact: true }).click();
  await guest.page.getByText("Messages are kept as long as the stage keeps messages.").waitFor();
  assert.equal(await guest.page.getByRole("button", { name: "Change", exact: true }).count(), 0);
  const keep = async (days) => {
    await alice.page.getByRole("button", { name: "Change", exact: true }).press("Enter");
    await alice.page.getByRole("spinbutton", { name: "Days that messages are kept", focused: true }).fill(days);
    await alice.page.keyboard.press("Enter");
  };
  await keep("3650");
  await alice.page.getByRole("alert").filter({ hasText: "retentionDays" }).waitFor();
  await alice.page.getByRole("button", { name: "Cancel", exact: true }).click();
  await keep("7");
  await alice.page.getByText("Messages are kept for 7 days.").waitFor();
  assert.equal(await alice.page.evaluate(() => document.activeElement.textContent), "Change");
  await alice.draw("rooms-retention");
  await guest.page.getByText("Messages are kept for 7 days.").waitFor();
  await guest.page.getByRole("button", { name: "Leave", exact: true }).click();
  await guest.page.locator(".leave").getByRole("button", { name: "Leave", exact: true }).click();
  await guest.page.getByText("You left on").waitFor();
  await member.getByText(" – ").waitFor();
  assert.deepEqual([...alice.errors, ...guest.errors], []);
  await alice.close();
  await guest.close();
});

test("a room says who is here, and no longer who has gone; without an answer it says nothing", async () => {
  const [roomId, user] = [`here-${mark()}`, `guest-${mark()}`];
  const client = await clientOf("alice", "chat:read", "chat:write");
  await client.request("PUT /rooms/{roomId}", { roomId, kind: "open" });
  await client.request("PUT /rooms/{roomId}/members/{userId}", { roomId, userId: "alice" });
  const alice = await open("alice", roomHash(roomId));
  const guest = await open(user, roomHash(roomId), {}, (page) => page.route("**/online", (route) => route.abort()));
  await alice.page.getByText("2 here", { exact: true }).waitFor();
  await alice.page.getByRole("button", { name: "Members", exact: true }).click();
  const person = (id) => alice.page.locator(".people > li").filter({ hasText: id });
  await person("alice").getByText("here", { exact: true }).waitFor();
  await alice.page.getByRole("heading", { name: "Here without having joined" }).waitFor();
  await person(user).getByText("here", { exact: true }).waitFor();
  await alice.draw("rooms-here");
  await guest.page.getByRole("button", { name: "Join", exact: true }).click();
  await alice.message(`${user} joined`).waitFor();
  await person(user).getByText(/^since/).waitFor();
  await guest.say("I see no list");
  await alice.message("I see no list").waitFor();
  assert.equal(await guest.page.getByText(/\d here/).count(), 0);
  assert.deepEqual([...alice.errors, ...guest.errors], []);
  await guest.close();
  await alice.page.getByText("1 here", { exact: true }).waitFor();
  client.close();
  await alice.close();
});

test("unread messages are counted live, begin at a line, and are read at the end of the room", async () => {
  const [one, other, user] = [`one-${mark()}`, `other-${mark()}`, `reader-${mark()}`];
  const client = await clientOf(user, "chat:read", "chat:write");
  const bob = await clientOf("bob", "chat:read", "chat:write");
  for (const roomId of [one, other]) {
    await client.request("PUT /rooms/{roomId}", { roomId, kind: "open" });
    await client.request("PUT /rooms/{roomId}/members/{userId}", { roomId, userId: user });
    await bob.send(roomId, "first");
    await sleep(1_100); // the rate of new rooms
  }
  let follow;
  const followed = new Promise((done) => { follow = done; });
  const reader = await open(user, roomHash(one), {}, (page) => page.routeWebSocket(() => true, (socket) => {
    const server = socket.connectToServer();
    socket.onMessage(async (frame) => {
      if (frame.includes(other)) {
        await followed;
      }
      server.send(frame);
    });
  }));
  await reader.message("first").waitFor();
  await reader.conversation(other).getByText("1 unread message").waitFor();
  await bob.send(other, "second"); // after the list was read, before the room is followed
  while ((await bob.request("GET /rooms/{roomId}/messages", { roomId: other })).items.length < 2) {
    await sleep(100);
  }
  follow();
  await reader.conversation(other).getByText("2 unread messages").waitFor();
  await bob.send(other, "third");
  await reader.conversation(other).getByText("3 unread messages").waitFor();
  assert.ok((await reader.page.locator(".conversation").first().innerText()).includes(other), "the newest is first");
  await reader.conversation(one).focus();
  await reader.page.keyboard.press("ArrowUp");
  await reader.page.keyboard.press("Enter");
  await reader.message("first").getByText("New", { exact: true }).waitFor();
  await reader.conversation(other).getByText("unread").waitFor({ state: "detached" });
  const field = reader.page.getByRole("textbox", { name: /^Message to/ });
  assert.ok(await field.evaluate((each) => each === document.activeElement), "one can type at once");
  await reader.page.keyboard.press("Escape");
  assert.ok((await reader.page.evaluate(() => document.activeElement.textContent)).includes(other));
  const again = await open(user, roomHash(other));
  await again.message("third").waitFor();
  assert.equal(await again.log.getByText("New", { exact: true }).count(), 0);
  assert.deepEqual([...reader.errors, ...again.errors], []);
  await reader.close();
  await again.close();
  client.close();
  bob.close();
});

test("a cut connection shows no gap and no repeat, and what was typed meanwhile is sent", async () => {
  const roomId = `cut-${mark()}`;
  const bob = await clientOf("bob", "chat:read", "chat:write");
  let isCut = false;
  const sockets = [];
  const alice = await open("alice", roomHash(roomId), {}, async (page) => {
    await page.routeWebSocket(() => true, (socket) => {
      sockets.push(socket);
      return isCut ? socket.close() : socket.connectToServer();
    });
    await page.route(`${where.http_url}/**`, (route) => (isCut ? route.abort() : route.continue()));
  });
  const say = (number) => bob.send(roomId, `message ${number}`);
  await say(0);
  await alice.message("message 0").waitFor();
  isCut = true;
  sockets.forEach((socket) => socket.close());
  await alice.page.getByText("No connection").waitFor();
  await alice.say("typed in a tunnel");
  await alice.message("typed in a tunnel").getByText("sending").waitFor();
  for (let number = 1; number <= 40; number += 1) {
    await say(number);
  }
  await alice.draw("rooms-offline");
  isCut = false;
  await alice.message("message 40").waitFor();
  await alice.message("typed in a tunnel").getByText("stored · main lane").waitFor();
  await alice.page.getByText("No connection").waitFor({ state: "detached" });
  assert.deepEqual(await numbers(alice), Array.from({ length: 41 }, (_, index) => index));
  assert.deepEqual(alice.errors, []);
  await alice.close();
  bob.close();
});

test("a refused message is sent again under its id", async () => {
  const roomId = `refused-${mark()}`;
  const ids = [];
  const alice = await open("alice", roomHash(roomId), {}, async (page) => {
    await page.routeWebSocket(() => true, (socket) => {
      const server = socket.connectToServer();
      socket.onMessage((text) => {
        const { action, requestId, events } = JSON.parse(text);
        if (action === "sendBatch" && ids.push(events[0].messageId) === 1) {
          const error = { code: "invalid_event", message: "refused by the test" };
          socket.send(JSON.stringify({ type: "acks", requestId, results: [{ error }] }));
        } else {
          server.send(text);
        }
      });
    });
  });
  await alice.page.getByText("No messages yet.").first().waitFor();
  await alice.page.waitForTimeout(1_000); // until the connection is open
  await alice.say("once more");
  await alice.message("once more").getByText("not sent: refused by the test").waitFor();
  await alice.page.getByRole("button", { name: "Send again" }).click();
  await alice.message("once more").getByText("stored · main lane").waitFor();
  assert.equal(ids.length, 2);
  assert.equal(ids[0], ids[1]);
  await alice.close();
});

test("an expired token signs in again, and the view stays", async () => {
  const roomId = `expired-${mark()}`;
  const bob = await clientOf("bob", "chat:read", "chat:write");
  let [asked, mayAsk] = [0, true];
  const alice = await open("alice", roomHash(roomId), {}, async (page) => {
    await page.route("**/console/token*", (route) => {
      asked += 1;
      const body = JSON.parse(route.request().postData());
      return mayAsk ? route.continue({ postData: JSON.stringify({ ...body, ttl: asked < 3 ? 8 : 3600 }) }) : route.abort();
    });
  });
  await bob.send(roomId, "before");
  await alice.message("before").waitFor();
  await alice.page.getByRole("textbox", { name: /^Message to/ }).fill("a draft");
  mayAsk = false;
  await sleep(9_000);
  await bob.send(roomId, "while the token was expired");
  const before = asked;
  mayAsk = true;
  await alice.message("while the token was expired").waitFor();
  assert.ok(asked > before, "it signed in again");
  assert.equal(await alice.page.getByRole("textbox", { name: /^Message to/ }).inputValue(), "a draft");
  await alice.page.keyboard.press("Enter");
  await alice.message("a draft").getByText("stored · main lane").waitFor();
  assert.deepEqual(alice.errors, []);
  await alice.close();
  bob.close();
});

test("the rooms load less than 63 kB as they were written", async () => {
  const sizes = new Map();
  const alice = await open("alice", "#/rooms", {}, async (page) => {
    page.on("requestfinished", async (request) => {
      const { pathname } = new URL(request.url());
      if (/^\/($|headrace-client|console\/.*\.(js|css|svg)$)/.test(pathname)) {
        sizes.set(pathname, (await request.sizes()).responseBodySize);
      }
    });
  });
  await alice.page.getByRole("button", { name: "New conversation" }).waitFor();
  await alice.page.waitForLoadState("networkidle");
  const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  console.log(`console: rooms load ${bytes} bytes of at most ${LARGEST}`);
  assert.ok(bytes > 20_000 && bytes <= LARGEST, `${bytes} bytes`);
  await alice.close();
});
