// All views for everybody: axe finds nothing serious, light and dark, wide and narrow, and the keyboard is enough. With
// CONSOLE, it looks at all four, and PICTURES has a picture of each.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";

import { clientOf, mark, open, roomHash } from "./rooms.mjs";

const AXE = createRequire(join(process.cwd(), "package.json")).resolve("axe-core/axe.min.js");
const GRAVE = ["serious", "critical"];
const [WIDE, NARROW] = [{ width: 1600, height: 1000 }, { width: 360, height: 780 }];
const LOOKS = {
  "light, wide": { viewport: WIDE, colorScheme: "light" },
  "dark, narrow": { viewport: NARROW, colorScheme: "dark" },
  ...(process.env.CONSOLE && {
    "dark, wide": { viewport: WIDE, colorScheme: "dark" },
    "light, narrow": { viewport: NARROW, colorScheme: "light" },
  }),
};

/** What axe finds that is serious or critical: the rule, and the first elements. */
async function graveFindings(page) {
  const found = await page.evaluate(() => globalThis.axe.run(document));
  return found.violations
    .filter(({ impact }) => GRAVE.includes(impact))
    .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html }) => html.slice(0, 160)).join(" | ")}`);
}

/** Presses Tab until the element has the focus, as a reader without a mouse does. */
async function tabTo(page, element, most = 60) {
  await element.waitFor();
  for (let pressed = 0; pressed < most; pressed += 1) {
    if (await element.evaluate((each) => each === document.activeElement)) {
      return;
    }
    await page.keyboard.press("Tab");
  }
  assert.fail(`Tab does not lead to ${element}`);
}

test("axe finds nothing serious or critical, light and dark, wide and narrow", async () => {
  const roomId = `access-${mark()}`;
  const bob = await clientOf("bob", "chat:read", "chat:write");
  const alice = await clientOf("alice", "chat:read", "chat:write");
  await alice.request("PUT /rooms/{roomId}", { roomId, kind: "open", topic: "for everybody" });
  await alice.request("PUT /rooms/{roomId}/members/{userId}", { roomId, userId: "alice" });
  await bob.send(roomId, "hello");
  await alice.send(roomId, "mine");
  let key;
  while (key === undefined) {
    const { items } = await bob.request("GET /rooms/{roomId}/messages", { roomId });
    key = items.find(({ message }) => message === "hello")?.key;
  }
  await bob.send(roomId, "answered", { replyTo: key });
  await alice.request("PUT /rooms/{roomId}/messages/{key}/reaction", { roomId, key, value: "👍" });
  await bob.send("lobby", "hello");
  const states = {
    overview: ["#/", async (page) => {
      await page.locator(".events .event").first().click();
      await page.locator(".timeline").waitFor();
    }],
    rooms: [roomHash(roomId), async (page) => {
      await page.getByRole("log").getByText("hello", { exact: true }).waitFor();
    }],
    members: [roomHash(roomId), async (page) => {
      await page.getByRole("button", { name: "Members", exact: true }).click();
      await page.locator(".people > li").getByText("here", { exact: true }).waitFor();
    }],
    edit: [roomHash(roomId), async (page) => {
      await page.getByRole("log").getByText("mine", { exact: true }).waitFor();
      await page.getByRole("textbox", { name: /^Message to/ }).press("ArrowUp");
      await page.getByRole("textbox", { name: "The new text" }).waitFor();
    }],
    thread: [roomHash(roomId), async (page) => {
      await page.getByRole("button", { name: /^Reply to / }).click();
      await page.getByRole("complementary", { name: "Thread" }).getByText("answered").waitFor();
    }],
    reactions: [roomHash(roomId), async (page) => {
      const answered = page.getByRole("log").getByRole("listitem").filter({ hasText: "answered" }).last();
      await answered.hover();
      await answered.getByRole("button", { name: /^Actions for the message/ }).click();
      await page.getByRole("button", { name: "Reactions", exact: true }).click();
      await page.getByText("No reactions yet.").waitFor();
    }],
    "new room": ["#/rooms", async (page) => page.getByRole("button", { name: "New conversation" }).click()],
    messages: ["#/questions", async (page) => page.getByText("unique users").first().waitFor()],
    ads: ["#/questions/ads", async (page) => page.getByText("Ask again").waitFor()],
    resort: ["#/questions/resort", async (page) => page.getByRole("heading", { name: "A resort’s day" }).waitFor()],
    people: ["#/people/bob", async (page) => page.getByText("No erasure was requested.").nth(1).waitFor()],
    "dead lane": ["#/dead-letters", async (page) => page.getByRole("button", { name: "Read again" }).waitFor()],
  };
  const grave = [];
  let looked = 0;
  for (const [look, options] of Object.entries(LOOKS)) {
    const { page, draw, close } = await open("alice", "#/", { ...options, bypassCSP: true });
    for (const [name, [hash, prepare]] of Object.entries(states)) {
      await page.evaluate(() => { location.hash = "#/questions"; });
      await page.waitForFunction(() => document.title.startsWith("Questions"));
      await page.evaluate((to) => { location.hash = to; }, hash);
      await prepare(page);
      await draw(`${name}, ${look}`.replaceAll(/\W+/g, "-"));
      await page.addScriptTag({ path: AXE });
      grave.push(...(await graveFindings(page)).map((found) => `${name}, ${look}: ${found}`));
      looked += 1;
    }
    await close();
  }
  assert.deepEqual(grave, []);
  console.log(`console: axe looked at ${looked} states of the views, and found nothing serious or critical`);
  bob.close();
  alice.close();
});

test("the keyboard is enough: to write, react and reply, to see members, to ask, and to count letters", async () => {
  const roomId = `keys-${mark()}`;
  const { page, message, close } = await open("alice", roomHash(roomId));
  const button = (name) => page.getByRole("button", { name, exact: true });
  const field = page.getByRole("textbox", { name: /^Message to/ });
  await tabTo(page, field);
  await page.keyboard.type("without a mouse");
  await page.keyboard.press("Enter");
  await message("without a mouse").getByText("stored").waitFor();
  const actions = page.getByRole("button", { name: /^Actions for the message/ });
  await page.getByRole("log").focus();
  await tabTo(page, actions);
  await page.keyboard.press("Enter");
  await tabTo(page, button("React with ❤️"));
  await page.keyboard.press("Enter");
  await tabTo(page, button("❤️, 1 reaction"));
  await page.keyboard.press("Enter");
  await button("❤️, 1 reaction").waitFor({ state: "detached" });
  await page.getByRole("log").focus();
  await tabTo(page, actions);
  await page.keyboard.press("Enter");
  await tabTo(page, button("Reply"));
  await page.keyboard.press("Enter");
  await page.getByRole("textbox", { name: "Reply to alice", focused: true }).waitFor();
  await page.keyboard.type("a reply");
  await page.keyboard.press("Enter");
  await message("a reply").getByText("stored").waitFor();
  await tabTo(page, field);
  await tabTo(page, button("Members"));
  await page.keyboard.press("Enter");
  await page.locator(".members h3").waitFor();
  await page.keyboard.press("Escape");
  await page.locator(".members").waitFor({ state: "detached" });
  await tabTo(page, button("New conversation"));
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });

  await tabTo(page, page.getByRole("link", { name: "Questions" }));
  await page.keyboard.press("Enter");
  await tabTo(page, button("Last day"));
  await page.keyboard.press("Enter");
  await page.getByText("unique users").first().waitFor();
  await tabTo(page, page.getByRole("link", { name: "Dead lane" }));
  await page.keyboard.press("Enter");
  await tabTo(page, button("Read again"));
  await page.keyboard.press("Enter");
  await page.getByText("What operators did").waitFor();
  await tabTo(page, page.getByRole("link", { name: "Overview" }));
  await page.keyboard.press("Enter");
  const alice = page.locator('section[aria-label="as alice"]');
  await tabTo(page, alice.getByRole("textbox"));
  await page.keyboard.type(`typed ${roomId}`);
  await page.keyboard.press("Enter");
  await alice.getByRole("listitem").filter({ hasText: `typed ${roomId}` }).waitFor();
  await close();
});

test("nothing moves for those who do not want it", async () => {
  const { page, close } = await open("alice", "#/", { reducedMotion: "reduce" });
  const bob = await clientOf("bob", "chat:read", "chat:write");
  await bob.send("lobby", "moves nothing");
  await page.getByText("moves nothing").first().waitFor();
  await page.waitForTimeout(1_500);
  assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
  await close();
  bob.close();
});
