// Two people talk in Chromium, beside a running stage; its broker is killed, and the connection of one of them is cut.
//
// STAGE names the stage's stage.json, and PACKAGES the node_modules of the app, beside which it is built. The working
// directory is that of the built TypeScript client, whose tools have Playwright, axe and the proxy. With PICTURES,
// pictures of the page are kept in that folder.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { cpSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const require = createRequire(join(process.cwd(), "package.json"));
const { chromium } = require("playwright-core");
const { clientOf, Proxy } = await import(pathToFileURL(join(process.cwd(), "tests", "stage", "stage.mjs")));
const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAD0lEQVR42mNgGAWDHwAAAggAATsXWhoAAAAASUVORK5CYII=";
const [WIDE, PHONE] = [{ width: 1100, height: 760 }, { width: 360, height: 740 }];
const OUTAGE = 5; // seconds

const where = JSON.parse(readFileSync(process.env.STAGE, "utf8"));
const proxy = new Proxy();
const errors = [];
let browser, server, address;

/** Build the app as `npm run build` does; returns its folder. */
function build(packages) {
  const folder = dirname(packages);
  const source = fileURLToPath(new URL("..", import.meta.url));
  cpSync(source, folder, { recursive: true, filter: (path) => !/node_modules|dist/.test(path.slice(source.length)) });
  const client = join(packages, "headrace-client"); // npm links to clients/typescript, where nothing is built
  rmSync(client, { force: true });
  symlinkSync(process.cwd(), client);
  for (const program of [join(packages, "typescript", "bin", "tsc"), "build.mjs"]) {
    execFileSync(process.execPath, [program], { cwd: folder, stdio: "inherit" });
  }
  return folder;
}

before(async () => {
  await proxy.start();
  server = spawn(process.execPath, [join(build(process.env.PACKAGES), "serve.mjs")], { env: { ...process.env, PORT: "0" }, stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: server.stdout })) {
    [address] = line.match(/http:\S+/);
    break;
  }
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
});

after(async () => {
  await browser?.close();
  server?.kill();
  proxy.stop();
});

/** A page of a user who has signed in; with `wsUrl`, its WebSocket goes there. */
async function pageOf(user, wsUrl) {
  const page = await (await browser.newContext({ viewport: WIDE, colorScheme: "light" })).newPage();
  page.setDefaultTimeout(30_000);
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => message.text().includes("Content Security Policy") && errors.push(message.text()));
  if (wsUrl !== undefined) {
    await page.route("**/config.json", async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ json: { ...(await answer.json()), wsUrl } });
    });
  }
  await page.goto(address);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByLabel("User").fill(user);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("online").waitFor();
  return page;
}

const log = (page) => page.getByRole("log");
const message = (page, text) => log(page).locator(".message").filter({ hasText: text });
const picture = async (page, name) => process.env.PICTURES && page.screenshot({ path: join(process.env.PICTURES, `${name}.png`) });

async function write(page, text) {
  await page.getByLabel("Message", { exact: true }).fill(text);
  await page.keyboard.press("Enter");
}

/** The texts of a log when all messages of `history` are in it, and none is on its way. */
async function texts(page, history) {
  const shown = log(page).locator(".message .text");
  await log(page).locator(".outgoing").waitFor({ state: "detached" });
  await page.waitForFunction((count) => document.querySelectorAll(".message").length === count, history.length);
  return (await shown.allInnerTexts()).map((text) => text.replace(/ \(edited\)$/, ""));
}

/** The page fits a phone, and axe finds nothing serious, light and dark. */
async function suitsEverybody(page, name) {
  for (const [colorScheme, viewport] of [["dark", PHONE], ["light", WIDE]]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(viewport);
    await picture(page, `${name}-${colorScheme}`);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name}: it is too wide`);
    const { violations } = await page.evaluate(`${AXE}; axe.run(document, { resultTypes: ["violations"] })`);
    const grave = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
    assert.deepEqual(grave.map(({ id, nodes }) => `${id}: ${nodes[0].html}`), [], `${name}, ${colorScheme}`);
  }
}

test("two people talk, the broker is killed, a connection is cut, and both see the same at the end", async () => {
  const mark = Math.random().toString(36).slice(2, 8);
  const [ann, ben, room] = [`ann-${mark}`, `ben-${mark}`, `kitchen-${mark}`];
  const [alice, bob] = await Promise.all([pageOf(ann), pageOf(ben, proxy.url)]);

  await alice.getByLabel("Name of a room").fill(room);
  await alice.getByLabel("Who may join").selectOption("members");
  await alice.getByRole("button", { name: "Go" }).click();
  alice.once("dialog", (dialog) => dialog.accept(ben));
  await alice.getByRole("button", { name: "Invite" }).click();
  await bob.getByRole("button", { name: "Accept" }).click();

  await write(alice, "who cooks tonight?");
  await message(bob, "who cooks tonight?").waitFor();
  await write(bob, "me, at sevn");
  await message(bob, "me, at sevn").hover();
  await message(bob, "me, at sevn").getByRole("button", { name: "Edit" }).click();
  await bob.getByLabel("New text").fill("me, at seven");
  await bob.getByRole("button", { name: "Save" }).click();
  assert.ok(await message(bob, "me, at sev").evaluate((item) => item === document.activeElement), "after Save, the message has the focus");
  await message(alice, "me, at seven").hover();
  await message(alice, "me, at seven").getByRole("button", { name: "React with 🎉" }).click();
  await message(bob, "me, at seven").getByRole("button", { name: "🎉, 1" }).waitFor();
  await message(alice, "me, at seven").getByRole("button", { name: "🎉, 1", pressed: true }).waitFor();
  await alice.locator("input[type=file]").setInputFiles({ name: "plates.png", mimeType: "image/png", buffer: Buffer.from(PIXEL, "base64") });
  await write(alice, "these plates?");
  await bob.waitForFunction(() => document.querySelector(".files img")?.naturalWidth > 0);

  await bob.goto(`${address}#`);
  await write(alice, "one more thing");
  await write(alice, "bring the forks");
  await bob.getByLabel("2 unread").waitFor();
  await picture(bob, "unread");
  await bob.getByRole("link", { name: room }).click();
  await log(bob).getByText("New", { exact: true }).waitFor();
  await bob.getByLabel("2 unread").waitFor({ state: "detached" });

  await fetch(where.kill_url, { method: "POST", body: JSON.stringify({ service: "RabbitMQ", seconds: OUTAGE }) });
  await write(alice, "is anybody there?");
  await alice.getByText("✓ accepted, stored a little later").waitFor();
  await write(bob, "of course");
  await picture(alice, "broker-killed");
  await message(alice, "of course").waitFor();
  await message(bob, "is anybody there?").waitFor();

  await bob.evaluate(() => { // what was missed is counted by keys, whatever the device's clock says
    globalThis.Date = class extends Date {
      constructor(...time) {
        super(...(time.length > 0 ? time : [Date.now() + 3_600_000]));
      }
    };
  });
  proxy.isDown = true;
  proxy.closeAll();
  await bob.getByText("Not connected since").waitFor();
  await picture(bob, "gap");
  await write(alice, "dinner is ready");
  await message(alice, "dinner is ready").waitFor();
  assert.equal(await message(bob, "dinner is ready").count(), 0);
  proxy.isDown = false;
  await bob.getByText("1 message came while you were not connected").waitFor();
  await message(bob, "dinner is ready").waitFor();

  alice.once("dialog", (dialog) => dialog.accept());
  await message(alice, "one more thing").hover();
  await message(alice, "one more thing").getByRole("button", { name: "Delete" }).click();
  await message(bob, "deleted").waitFor();

  const { items } = await clientOf(ann).request("GET /rooms/{roomId}/messages", { roomId: room, limit: 200 });
  const history = items.filter(({ messageType }) => messageType === "TEXT").reverse();
  const stored = history.map(({ message, deletedAt }) => (deletedAt ? "deleted" : message));
  assert.deepEqual(await texts(alice, history), stored);
  assert.deepEqual(await texts(bob, history), stored);
  assert.equal(stored.length, 8);

  await suitsEverybody(bob, "room");
  await bob.goto(`${address}#/rooms/%`);
  await bob.getByRole("alert").getByText("The address names no room").waitFor();
  await bob.goto(`${address}#`);
  await bob.getByRole("alert").waitFor({ state: "detached" });
  await suitsEverybody(bob, "rooms");
  await bob.reload(); // the sign-in stays in this tab
  await bob.getByText("online").waitFor();
  await bob.getByRole("button", { name: "Sign out" }).click();
  await bob.getByRole("button", { name: "Sign in" }).waitFor();
  await bob.goto(`${address}?state=another&code=1`);
  await bob.getByRole("alert").getByText("This tab did not ask").waitFor();
  assert.deepEqual(errors, []);
});
