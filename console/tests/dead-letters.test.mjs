// The view #/dead-letters in Chromium. LETTERS describes what waits in the dead lane: one record that is not JSON, with
// `text` in it, and `storable` messages of `room` whose cause is gone.
import assert from "node:assert/strict";
import { test } from "node:test";

import { clientOf, open } from "./rooms.mjs";

const { text, room, storable } = JSON.parse(process.env.LETTERS);
const VIEW = "#/dead-letters";

/** The part of the page for a move: of one letter, if it is open, or of the whole lane. */
const move = (page, title, place = ".lane > section:first-child") => page.locator(place).getByRole("group", { name: title });

test("without the scope ops, the view says what is needed", async () => {
  const { page, close } = await open("alice", VIEW, {}, (opened) =>
    opened.route("**/console/token*", (route) => {
      const wanted = JSON.parse(route.request().postData());
      return route.continue({ postData: JSON.stringify({ ...wanted, scopes: ["chat:read"] }) });
    }));
  await page.getByText("it needs the scope ops").waitFor();
  assert.equal(await page.getByRole("button", { name: "Count first" }).count(), 0);
  await close();
});

test("a poison record is seen and opened, and after a redrive it is back with its reason", async () => {
  const { page, errors, draw, close } = await open("olga", VIEW);
  await page.getByRole("button", { name: /^1 not_json on/ }).click();
  await page.getByRole("table", { name: "1 letter", exact: true }).waitFor();
  await page.getByRole("table", { name: "1 letter", exact: true }).getByRole("link").click();
  const letter = page.locator(".letter");
  await letter.getByRole("heading", { name: "A letter: not_json" }).waitFor();
  await letter.getByText("failed for the first time").waitFor();
  await letter.getByText("5 tries to store it").waitFor();
  await letter.getByRole("button", { name: /^Show the body/ }).click();
  await letter.locator("pre").waitFor();
  assert.ok((await letter.locator("pre").innerText()).includes(text));
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  await draw("dead-letter");

  const redrive = move(page, "Redrive", ".letter");
  await redrive.getByRole("button", { name: "Count first" }).click();
  await redrive.getByRole("button", { name: "Redrive 1" }).click();
  await redrive.getByText("1 of 1 moved.").waitFor();
  await redrive.getByText("1 came back: not_json. The retry lane is empty: 0 of 1 stored.").waitFor();
  const audit = page.getByRole("table", { name: /^The newest/ });
  await audit.getByRole("row", { name: /olga dead letters were redriven id .* moved 1, failed 0/ }).first().waitFor();
  await audit.getByRole("row", { name: /olga bodies of dead letters were read/ }).first().waitFor();
  assert.deepEqual(errors, []);
  await close();
});

test("a redrive stops between two slices, goes on, and its messages are stored", async () => {
  const { page, draw, close } = await open("olga", VIEW);
  await page.getByRole("combobox", { name: "Reason" }).selectOption("storable");
  await page.getByRole("table", { name: `${storable} letters`, exact: true }).waitFor();
  const redrive = move(page, "Redrive");
  await redrive.getByRole("button", { name: "Count first" }).click();
  await redrive.getByText(`${storable} letters match: ${storable} storable`).waitFor();
  await redrive.getByLabel("a second").fill("1");
  await redrive.getByRole("button", { name: `Redrive ${storable}` }).click();
  await redrive.getByRole("progressbar").waitFor();
  await redrive.getByRole("button", { name: "Stop" }).click();
  await redrive.getByText("It stops after this slice").waitFor();
  await redrive.getByText("Stopped. What was moved stays moved.").waitFor();
  const moved = Number(/^(\d+) of/.exec(await redrive.getByText(/ moved/).first().innerText())[1]);
  assert.ok(moved > 0 && moved < storable, `${moved} of ${storable}`);
  await draw("dead-letters-stopped");
  await redrive.getByRole("button", { name: "Go on" }).click();
  await redrive.getByText(`None came back. The retry lane is empty: ${storable} of ${storable} stored.`).waitFor();

  const reader = await clientOf("importer", "chat:read");
  const { items } = await reader.request("GET /rooms/{roomId}/messages", { roomId: room, limit: 100 });
  assert.equal(items.length, storable);
  await close();
});

test("a discard refuses a wrong count, and takes the right one", async () => {
  const { page, close } = await open("olga", VIEW);
  const discard = move(page, "Discard");
  await discard.getByRole("button", { name: "Count first" }).click();
  await discard.getByText("1 letter matches: 1 not_json").waitFor();
  await discard.getByLabel("Type their number to confirm").fill("2");
  await discard.getByRole("button", { name: "Discard" }).click();
  await discard.getByRole("alert").filter({ hasText: "confirm must be 1" }).waitFor();
  await page.getByRole("button", { name: /^1 not_json on/ }).waitFor();
  await discard.getByLabel("Type their number to confirm").fill("1");
  await page.keyboard.press("Enter");
  await discard.getByText("1 discarded.").waitFor();
  await page.getByText("The dead lane is empty.").waitFor();
  await page.getByRole("row", { name: /olga dead letters were discarded all discarded 1, failed 0/ }).first().waitFor();
  await close();
});

test("a letter that is gone, and a lane that does not answer, are said in words", async () => {
  const { page, close } = await open("olga", `${VIEW}/none`);
  await page.getByText("This letter is not here.").waitFor();
  await page.route("**/dead-letters?*", (route) => route.abort());
  await page.getByRole("button", { name: "Read again" }).click();
  const failure = page.getByRole("alert").first();
  await failure.waitFor();
  await page.unroute("**/dead-letters?*");
  await failure.getByRole("button", { name: "Try again" }).click();
  await page.getByText("The dead lane is empty.").waitFor();
  await close();
});

test("the dead lane fits a phone, in both color schemes", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const { page, draw, close } = await open("olga", VIEW, { viewport: { width: 360, height: 780 }, colorScheme });
    await page.getByText("The dead lane is empty.").waitFor();
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), colorScheme);
    await draw(`dead-letters-narrow-${colorScheme}`);
    await close();
  }
});
