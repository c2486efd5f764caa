// The console in Chromium, on a running stage: STAGE names its stage.json. With CONSOLE, the broker is killed too.
//
// Playwright comes from the tools of the TypeScript client, whose folder is the working directory. With PICTURES, a
// folder, pictures of the page are written there.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { browser, pictures, where } from "./rooms.mjs";

const LARGEST = 60_000; // bytes, compressed
const PAINTED = 500; // milliseconds
const OUTAGE = 90_000; // milliseconds until all is stored and pushed after an outage of the broker of ten seconds

/** The console in a new browser profile, and the errors that it logs. */
async function open(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 1080 }, ...options });
  const page = await context.newPage();
  const errors = [];
  const responses = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    // A room that begins with its first message has no history: the browser logs the 404.
    if (message.type() === "error" && !message.location().url.includes("/rooms/lobby/messages")) {
      errors.push(message.text());
    }
  });
  page.on("response", (response) => responses.push(response));
  await page.goto(where.console_url);
  await page.getByText("lost 0").waitFor();
  const pane = (user) => page.locator(`section[aria-label="as ${user}"]`);
  const say = async (user, text) => {
    await pane(user).getByRole("textbox").fill(text);
    await pane(user).getByRole("button", { name: "Send" }).click();
  };
  const message = (user, text) => pane(user).getByRole("listitem").filter({ hasText: text });
  await pane("alice").getByText("live", { exact: true }).waitFor();
  await pane("bob").getByText("live", { exact: true }).waitFor();
  return { page, errors, responses, pane, say, message };
}

async function draw(page, name, options = {}) {
  if (pictures) {
    await page.screenshot({ path: join(pictures, `${name}.png`), ...options });
  }
}

const mark = () => `${Date.now()}-${Math.random().toString(36).slice(2, 6)}`;

test("the broker is killed: ticks say retry, then stored, and nothing is lost", { skip: !process.env.CONSOLE }, async () => {
  const { page, errors, say, message } = await open({ colorScheme: "light" });
  await page.getByRole("button", { name: "Send traffic" }).click();
  await page.locator(".edge.flows").first().waitFor({ state: "attached" }); // a line has no height
  await page.getByText("100 messages sent to #traffic").waitFor();
  for (const [user, other, text] of [["alice", "bob", "hello"], ["bob", "alice", "Hello Alice. All here?"]]) {
    await say(user, text);
    await message(other, text).getByText("seen after").waitFor();
  }
  await page.getByRole("button", { name: "Kill RabbitMQ" }).click();
  await page.locator(".node.bad").filter({ hasText: "away" }).waitFor();
  const texts = ["The broker is away.", "I type on …", "and it is kept."];
  for (const text of texts) {
    await say("alice", text);
    await message("alice", text).getByText("accepted · retry lane").waitFor();
  }
  await page.locator(".edge.flows.retry").first().waitFor();
  assert.equal(await page.locator(".verdict b").innerText(), "✓ lost 0");
  const bottom = async () => {
    const { y, height } = await page.locator(".panes").boundingBox();
    return y + height;
  };
  for (let end = 0; end !== (await bottom());) {
    end = await bottom();
    await draw(page, "console", { clip: { x: 0, y: 0, width: 1440, height: end + 12 } });
  }
  for (const text of texts) {
    await message("alice", text).getByText("stored · retry lane").waitFor({ timeout: OUTAGE });
  }
  await page.locator(".node.bad").filter({ hasText: "away" }).waitFor({ state: "detached", timeout: OUTAGE });
  const last = "Now you have it.";
  await say("alice", last);
  for (const text of [...texts, last]) {
    await message("bob", text).waitFor({ timeout: OUTAGE });
  }
  assert.equal(await page.locator(".verdict b").innerText(), "✓ lost 0");
  assert.deepEqual(errors, []);
  console.log(`console: the broker was killed, ${texts.length} messages took the retry lane and are stored; lost 0`);
  await draw(page, "back");
  await page.context().close();
});

test("two browsers talk, and markup stays text", async () => {
  const [one, two] = [await open(), await open()];
  const text = `<script>window.hacked = 1</script><img src=x onerror="window.hacked = 1"> ${mark()}`;
  await one.say("alice", text);
  await two.message("bob", text).waitFor();
  await one.message("alice", text).getByText("stored · main lane").waitFor();
  assert.equal(await two.page.evaluate(() => window.hacked), undefined);
  assert.equal(await two.message("bob", text).locator("script, img").count(), 0);
  assert.deepEqual([...one.errors, ...two.errors], []);
  await one.page.context().close();
  await two.page.context().close();
});

test("the page loads less than 60 kB", async () => {
  const { page, responses, errors } = await open();
  const origin = new URL(where.console_url).origin;
  const loaded = [...responses];
  const files = loaded.filter((each) => /^\/($|headrace-client|console\/.*\.(js|css|svg)$)/.test(new URL(each.url()).pathname));
  const sizes = await Promise.all(files.map(async (each) => (await each.request().sizes()).responseBodySize));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  const paints = [];
  for (let time = 0; time < 3; time += 1) {
    const fresh = await open(); // nothing is in its cache
    paints.push(await fresh.page.evaluate(
      () => performance.getEntriesByType("paint").find(({ name }) => name === "first-contentful-paint").startTime,
    ));
    await fresh.page.context().close();
  }
  const paint = paints.sort((one, other) => one - other)[1];
  console.log(`console: ${files.length} files, ${bytes} bytes of at most ${LARGEST}; first paint after ${Math.round(paint)} ms of at most ${PAINTED}`);
  assert.ok(files.length > 8 && files.every((each) => each.url().startsWith(origin)));
  assert.ok(bytes <= LARGEST, `${bytes} bytes`);
  assert.deepEqual(errors, []);
  await page.context().close();
});

test("the first message is seen by Bob, however late his first page comes", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  let release;
  const held = new Promise((done) => { release = done; });
  await page.route(/rooms\/lobby\/messages\?/, async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(where.console_url);
  const [alice, bob] = ["alice", "bob"].map((user) => page.locator(`section[aria-label="as ${user}"]`));
  const text = `first ${mark()}`;
  await alice.getByRole("textbox").fill(text);
  await alice.getByRole("button", { name: "Send" }).click();
  await alice.getByRole("listitem").filter({ hasText: text }).getByText("accepted ·").waitFor();
  await new Promise((done) => setTimeout(done, 3_000)); // stored by now
  release();
  await bob.getByRole("listitem").filter({ hasText: text }).getByText("seen after").waitFor();
  await context.close();
});

test("an event opens as a timeline, and poison shows in the dead lane", async () => {
  const { page, errors, say, message } = await open();
  const text = `timed ${mark()}`;
  const before = await page.locator(".events .event code").allInnerTexts();
  await say("alice", text);
  await message("alice", text).getByText("stored · main lane").waitFor();
  await page.waitForFunction((known) => !known.includes(document.querySelector(".events .event code")?.textContent), before);
  await page.locator(".events .event").first().click();
  for (const step of ["received", "published", "accepted 1 chat event, lane main", "stored 1 chat event, lane main", /^live copies of the batch/]) {
    await page.locator(".timeline").getByText(step, { exact: true }).waitFor();
  }
  await page.getByRole("button", { name: "Make a poison record" }).click();
  await page.locator(".node.bad").filter({ hasText: "dead lane" }).waitFor({ timeout: 60_000 });
  await page.locator(".lane-row").filter({ hasText: "dead" }).getByText("holding", { exact: true }).waitFor();
  assert.equal(await page.locator(".verdict b").innerText(), "✓ lost 0");
  assert.deepEqual(errors, []);
  await page.context().close();
});

test("every view is a link, has a title, and takes the focus", async () => {
  const { page, errors } = await open();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
  const views = { rooms: "Rooms", questions: "Questions", people: "Personal data", "dead-letters": "Dead lane", "": "Overview" };
  for (const [path, name] of Object.entries(views)) {
    await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name }).focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction((title) => document.title === `${title} · Headrace`, name);
    assert.equal(await page.evaluate(() => document.activeElement.textContent), name);
    assert.equal(new URL(page.url()).hash, `#/${path}`);
    assert.equal(await page.locator("header nav [aria-current=page]").innerText(), name);
  }
  await page.getByText("lost 0").waitFor();
  assert.deepEqual(errors, []);
  await page.context().close();
});

test("a link that is opened as soon as it is drawn leads to its view", async () => {
  const page = await browser.newPage();
  await page.addInitScript(() => {
    new MutationObserver((_, observer) => {
      if (document.querySelector("header nav") !== null) {
        observer.disconnect();
        location.hash = "#/questions";
      }
    }).observe(document, { childList: true, subtree: true });
  });
  await page.goto(where.console_url);
  await page.waitForFunction(() => document.title.startsWith("Questions"));
  await page.close();
});

test("it fits a phone, and says what to open without the secret", async () => {
  for (const [name, options] of Object.entries({
    light: { colorScheme: "light" },
    dark: { colorScheme: "dark" },
    wide: { viewport: { width: 1600, height: 1000 } },
    narrow: { viewport: { width: 360, height: 780 }, reducedMotion: "reduce" },
    "narrow-dark": { viewport: { width: 360, height: 780 }, colorScheme: "dark" },
  })) {
    const { page } = await open(options);
    const [wanted, given] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(wanted <= given, `${name}: ${wanted} px in ${given}`);
    await draw(page, name, { fullPage: true });
    await page.context().close();
  }
  const page = await browser.newPage();
  await page.goto(new URL(where.console_url).origin);
  await page.getByText("needs the whole address").waitFor();
  await page.close();
});
