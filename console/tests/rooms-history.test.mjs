// The history of a room in the console: long, on its days, and over an outage of the broker. With CONSOLE, the broker is
// killed, and 20,000 messages are scrolled instead of 2,000.
import assert from "node:assert/strict";
import { test } from "node:test";

import { clientOf, fill, mark, numbers, open, roomHash, settle, sleep, where } from "./rooms.mjs";

const whole = Boolean(process.env.CONSOLE);
const OUTAGE = 90_000; // milliseconds until all is stored after an outage of the broker of ten seconds
const LONGEST = 50; // milliseconds of CPU

/** The tasks of the page while `work` runs: the longest one, in milliseconds of CPU. */
async function longestTask(page, work) {
  const session = await page.context().newCDPSession(page);
  const events = [];
  session.on("Tracing.dataCollected", ({ value }) => events.push(...value));
  const categories = "-*,__metadata,disabled-by-default-lighthouse,disabled-by-default-devtools.timeline";
  await session.send("Tracing.start", { categories, transferMode: "ReportEvents" });
  await work();
  const complete = new Promise((done) => session.once("Tracing.tracingComplete", done));
  await session.send("Tracing.end");
  await complete;
  const mains = events.filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain");
  const tasks = events.filter(
    ({ name, pid, tid }) => name === "RunTask" && mains.some((main) => main.pid === pid && main.tid === tid),
  );
  assert.ok(tasks.length > 0, "tasks were seen");
  return Math.max(...tasks.map(({ tdur }) => (tdur ?? 0) / 1_000));
}

/** How many rows the page still has, also those that are not in the document. */
async function rowsInMemory(page) {
  const session = await page.context().newCDPSession(page);
  const { result } = await session.send("Runtime.evaluate", { expression: "HTMLLIElement.prototype" });
  const { objects } = await session.send("Runtime.queryObjects", { prototypeObjectId: result.objectId });
  const counted = { objectId: objects.objectId, functionDeclaration: "function () { return this.length; }", returnByValue: true };
  return (await session.send("Runtime.callFunctionOn", counted)).result.value;
}

/** Scroll up to the first message. Returns how many messages were drawn, and where their numbers did not follow each other. */
function scrollToFirst(log) {
  return log.evaluate(async (box) => {
    const seen = new Set();
    const wrong = [];
    for (;;) {
      const drawn = [...box.querySelectorAll(".text")].map(({ textContent }) => Number(textContent.replace("message ", "")));
      drawn.forEach((number, index) => number === drawn[0] + index || wrong.push(drawn));
      drawn.forEach((number) => seen.add(number));
      if (seen.has(0) && box.scrollTop === 0) {
        return { seen: seen.size, wrong };
      }
      box.scrollTop -= box.clientHeight;
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    }
  });
}

test("a long room is scrolled to its first message, smoothly, and what is read stays in its place", async () => {
  const count = whole ? 20_000 : 2_000;
  const roomId = `long-${mark()}`;
  await fill(roomId, count);
  if (whole) {
    await settle(roomId);
  }
  const reader = await open("alice", roomHash(roomId));
  await reader.message(`message ${count - 1}`).waitFor();
  const rows = await reader.log.getByRole("listitem").count();
  assert.ok(rows < 120, `${rows} rows are drawn`);

  // At the upper edge, older messages come, and the message there does not move.
  const moved = await reader.log.evaluate(async (log) => {
    const top = () => log.querySelector("ol").getBoundingClientRect().height;
    const before = top();
    log.scrollTop = 0;
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const edge = log.getBoundingClientRect().top;
    const first = [...log.querySelectorAll("li")].find((each) => each.getBoundingClientRect().bottom > edge + 80);
    const at = first.getBoundingClientRect().top;
    while (top() === before) {
      await new Promise((done) => setTimeout(done, 20));
    }
    await new Promise((done) => setTimeout(done, 300));
    return Math.abs(first.getBoundingClientRect().top - at);
  });
  assert.ok(moved <= 1, `it moved by ${moved} pixels`);

  await reader.log.press("End");
  await reader.message(`message ${count - 1}`).waitFor();
  let found;
  const longest = await longestTask(reader.page, async () => { found = await scrollToFirst(reader.log); });
  assert.deepEqual(found, { seen: count, wrong: [] });
  console.log(`console: ${count} messages scrolled to the first; the longest task took ${longest.toFixed(0)} ms of CPU, of at most ${LONGEST}`);
  const kept = await rowsInMemory(reader.page);
  assert.ok(kept < 500, `${kept} rows are kept, though ${count} were scrolled away`);
  await reader.page.getByRole("button", { name: "Newest messages" }).click();
  await reader.message(`message ${count - 1}`).waitFor();
  assert.deepEqual(reader.errors, []);
  await reader.close();
});

test("days and times are those of the reader, and a date is jumped to and read on from there", async () => {
  const roomId = `days-${mark()}`;
  const hour = 3_600_000;
  const last = Date.now();
  await fill(roomId, 480, { every: hour / 4, last });
  const reader = await open("alice", roomHash(roomId), { locale: "de-DE", timezoneId: "Asia/Tokyo" });
  const date = (options, at) => new Intl.DateTimeFormat("de-DE", { timeZone: "Asia/Tokyo", ...options }).format(at);
  await reader.message("message 479").waitFor();
  await reader.message("message 479").getByText(date({ hour: "2-digit", minute: "2-digit" }, last - hour / 4)).first().waitFor();

  const day = new Date(last - 72 * hour).toLocaleDateString("sv", { timeZone: "Asia/Tokyo" });
  const midnight = Date.parse(`${day}T00:00:00+09:00`);
  const first = 480 - Math.floor((last - midnight) / (hour / 4));
  await reader.page.getByRole("button", { name: "Jump to a date" }).click();
  await reader.page.getByLabel("Jump to a date").last().fill(day);
  await reader.page.keyboard.press("Enter");
  const heading = date({ weekday: "long", day: "numeric", month: "long" }, midnight);
  await reader.message(`message ${first}`).getByText(heading).waitFor();
  await reader.draw("rooms-date");
  await numbers(reader);
  const end = reader.message("message 479");
  while (!(await end.isVisible())) {
    await reader.log.evaluate((log) => { log.scrollTop += log.clientHeight / 2; });
    await sleep(60);
    await numbers(reader);
  }
  assert.deepEqual(reader.errors, []);
  await reader.close();
});

test("the view fits a phone: the list or a room, with a way back", async () => {
  const [roomId, name] = [`phone-${mark()}`, `A room with a rather long name ${mark()}`];
  const client = await clientOf("alice", "chat:read", "chat:write");
  await client.request("PUT /rooms/{roomId}", { roomId, kind: "members", name });
  for (const [size, options] of Object.entries({
    wide: { viewport: { width: 1600, height: 1000 } },
    dark: { colorScheme: "dark" },
    narrow: { viewport: { width: 360, height: 780 }, reducedMotion: "reduce" },
    "narrow-dark": { viewport: { width: 400, height: 780 }, colorScheme: "dark" },
  })) {
    const reader = await open("alice", roomHash(roomId), options);
    await reader.message("alice joined").waitFor();
    const [wanted, given] = await reader.page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(wanted <= given, `${size}: ${wanted} px in ${given}`);
    await reader.page.getByRole("textbox", { name: /^Message to/ }).click();
    await reader.draw(`rooms-${size}`);
    if (given < 760) {
      assert.equal(await reader.conversation(name).isVisible(), false);
      await reader.page.getByRole("link", { name: "Back to the conversations" }).click();
      await reader.conversation(name).waitFor();
      await reader.draw(`rooms-${size}-list`);
    }
    await reader.close();
  }
  client.close();
});

test("the broker is killed: ticks say retry, then stored", { skip: !whole }, async () => {
  const roomId = `outage-${mark()}`;
  const alice = await open("alice", roomHash(roomId));
  const bob = await open("bob", roomHash(roomId));
  await alice.say("message 0");
  await alice.message("message 0").getByText("stored · main lane").waitFor();
  await fetch(where.kill_url, { method: "POST", body: JSON.stringify({ service: "RabbitMQ", seconds: 10 }) });
  for (const number of [1, 2, 3]) {
    await alice.say(`message ${number}`);
    await alice.message(`message ${number}`).getByText("accepted · retry lane").waitFor();
  }
  await alice.draw("rooms-retry");
  for (const number of [1, 2, 3]) {
    await alice.message(`message ${number}`).getByText("stored · retry lane").waitFor({ timeout: OUTAGE });
    await bob.message(`message ${number}`).waitFor({ timeout: OUTAGE });
  }
  assert.deepEqual(await numbers(alice), [0, 1, 2, 3]);
  assert.deepEqual(await numbers(bob), [0, 1, 2, 3]);
  console.log("console: the broker was killed; the ticks of 3 messages said retry, then stored, and the other user has them");
  await alice.close();
  await bob.close();
});
