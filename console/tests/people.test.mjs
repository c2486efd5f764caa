// Users export and erase themselves, and an operator erases another one and deletes rooms. STAGE: the stage's stage.json.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";

import { clientOf, mark, open, page, suitsEverybody, until } from "./page.mjs";

/** A user with a message that is stored. */
async function writer() {
  const user = `gone-${mark()}`;
  const roomId = `attic-${user}`;
  const client = await clientOf(user, "chat:read", "chat:write");
  await client.send(roomId, "Do not remember me");
  const items = async () => (await client.request("GET /rooms/{roomId}/messages", { roomId }).catch(() => ({ items: [] }))).items;
  await until(items, (found) => found.length > 0);
  client.close();
  return user;
}

/** The lines of the compressed JSON lines that a link leads to. */
async function linesOf(link) {
  const [download] = await Promise.all([page.waitForEvent("download"), link.click()]);
  return gunzipSync(readFileSync(await download.path())).toString().trim().split("\n").map((line) => JSON.parse(line));
}

const region = (name) => page.getByRole("region", { name });

test("users export and erase themselves, and an operator finds the same file and sees how far it is", async () => {
  const user = await writer();
  await open(`#/people/${user}`, { as: user });
  const [own, others] = [region(`Yourself: ${user}`), region("Any user")];
  await others.getByText("No export is there.").waitFor();
  await own.getByRole("button", { name: "Export now" }).click();
  const link = own.getByRole("link");
  assert.ok(JSON.stringify(await linesOf(link)).includes("Do not remember me"));
  await own.getByRole("button", { name: "New links" }).click();
  await link.waitFor();
  await page.reload();
  assert.equal(await others.getByRole("link").innerText(), await link.innerText());
  assert.ok((await linesOf(others.getByRole("link"))).length > 0);

  const [field, button] = [own.getByLabel(`Type ${user} to confirm`), own.getByRole("button", { name: "Erase for good" })];
  await own.getByText("No erasure was requested.").waitFor();
  await field.fill("somebody else");
  assert.ok(await button.isDisabled());
  await field.fill(user);
  await button.click();
  await own.getByText(/^running/).waitFor();
  await own.getByText(/\bmessages: 1\b/).waitFor();
  assert.equal(await button.count(), 0, "it is not asked for twice");
  await suitsEverybody();
  await open(`#/people/${user}`, { as: user });
  await others.getByText(/\bmessages: 1\b/).waitFor();
});

test("an operator erases a user with a skier, and hears why it was refused", async () => {
  const user = await writer();
  await open(`#/people/${user}`);
  const others = region("Any user");
  const [skier, typed] = [others.getByLabel(/^Number of the skier/), others.getByLabel(`Type ${user} to confirm`)];
  const erase = others.getByRole("button", { name: "Erase for good" });
  await skier.fill("4711a");
  await typed.fill(user);
  await erase.click();
  await others.getByRole("alert").getByText(/skierID/).waitFor();
  await skier.fill("4711");
  await erase.click();
  await others.getByText(/^running/).waitFor();
  await others.getByText(/\bmessages: 1\b/).waitFor();
  await others.getByRole("textbox", { name: "Id of the user" }).fill("nobody");
  await page.keyboard.press("Enter");
  await others.getByLabel("Type nobody to confirm").waitFor();
  assert.equal(await skier.inputValue(), "", "the skier of another user is not erased");
  await others.getByLabel("Type nobody to confirm").fill("nobody");
  await erase.click();
  await others.getByText(/^(running|done)/).waitFor();
});

test("an operator deletes a room after typing its id, and hears why it was refused", async () => {
  const roomId = `kitchen-${mark()}`;
  const owner = await clientOf("dora", "chat:read", "chat:write");
  await owner.request("PUT /rooms/{roomId}", { roomId, name: "Kitchen", kind: "members" });
  await owner.send(roomId, "Who has the key?");
  const messages = () => owner.request("GET /rooms/{roomId}/messages", { roomId });
  await until(messages, ({ items }) => items.length === 2); // and that its owner joined

  await open("#/people/room/nowhere");
  const rooms = region("Any room");
  const confirm = (id) => rooms.getByLabel(`Type ${id} to confirm`);
  const [button, refused] = [rooms.getByRole("button", { name: "Delete for good" }), rooms.getByRole("alert")];
  await confirm("nowhere").fill("nowhere");
  await button.click();
  await refused.getByText(/there is no/).waitFor();

  await rooms.getByLabel("Id of the room").fill(` ${roomId} `);
  await page.keyboard.press("Enter");
  await rooms.getByText("No deletion was requested.").waitFor();
  assert.equal(await refused.count(), 0, "the refusal of another room is gone");
  await confirm(roomId).fill(roomId.toUpperCase());
  assert.ok(await button.isDisabled());
  await confirm(roomId).fill(roomId);
  await suitsEverybody();
  await button.click();
  await rooms.getByText(/^(running|done)/).waitFor();
  await rooms.getByText(/\bmessages: 2\b/).waitFor();
  await rooms.getByText("Id free from").waitFor();
  await assert.rejects(messages, { code: "forbidden" });
  owner.close();
});

test("without the right, an operator's view shows what is missing, and no form", async () => {
  const withoutRight = (route) => route.continue({ postData: JSON.stringify({ user: "mallory", scopes: ["chat:write"] }) });
  await page.route("**/console/token?*", withoutRight);
  await open("#/people/room/kitchen", { as: "mallory" });
  const rooms = region("Any room");
  await rooms.getByRole("alert").getByText(/lacks the right/).waitFor();
  assert.equal(await rooms.getByRole("button", { name: "Delete for good" }).count(), 0);
});
