// What the tests of the console share: Chromium with one page, which goes from view to view, and clients outside of it.
//
// STAGE names the stage's stage.json. Playwright and axe come from the tools of the TypeScript client, whose folder is
// the working directory.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, afterEach, before } from "node:test";
import { pathToFileURL } from "node:url";

const require = createRequire(join(process.cwd(), "package.json"));
const { chromium } = require("playwright-core");
const { WebSocket } = require("ws");
const { Headrace } = await import(pathToFileURL(join(process.cwd(), "dist", "index.js")));
const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const PATIENCE = 60_000; // milliseconds, where other work has the cores
const [WIDE, NARROW] = [{ width: 1600, height: 1000 }, { width: 360, height: 780 }];
const LOOKS = [
  { name: "dark, narrow", viewport: NARROW, colorScheme: "dark" },
  { name: "light, wide", viewport: WIDE, colorScheme: "light" }, // as the page was
];
export const where = JSON.parse(readFileSync(process.env.STAGE, "utf8"));
export let browser;
/** The page of all tests, at the console of the stage. */
export let page;
let user; // of the page, as it was loaded
let isChanged = false; // the page's clock, so that it has to be loaded again
const errors = [];

before(async () => {
  const args = ["--no-sandbox", "--disable-dev-shm-usage"];
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args });
  page = await browser.newPage({ viewport: WIDE, timezoneId: "Asia/Kolkata" });
  page.setDefaultTimeout(PATIENCE);
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => message.text().includes("Content Security Policy") && errors.push(message.text()));
  await page.goto(where.console_url);
  user = "alice";
});

afterEach(async (test) => {
  if (!test.passed) {
    const pages = browser.contexts().flatMap((context) => context.pages());
    for (const each of pages) {
      console.log(`${test.name}: ${each.url()} shows:\n${await each.locator("body").innerText()}`);
    }
  }
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "no-preference" });
  await page.setViewportSize(WIDE);
  assert.deepEqual(errors.splice(0), []);
});

after(() => browser?.close());

export const mark = () => Math.random().toString(36).slice(2, 8);

/** The first result of `ask` that is `good`; the time limit of the test ends it. */
export async function until(ask, good) {
  for (;;) {
    const found = await ask();
    if (good(found)) {
      return found;
    }
    await new Promise((done) => setTimeout(done, 200));
  }
}

/** A client of a user, or of a trusted producer, outside of the browser. */
export async function clientOf(name, ...scopes) {
  const body = JSON.stringify({ user: name, scopes });
  const answer = await fetch(where.token_url, { method: "POST", body, headers: { "content-type": "application/json" } });
  const { access_token: token } = await answer.json();
  return new Headrace({ httpUrl: where.http_url, wsUrl: where.websocket_url, token, WebSocket });
}

/** Shows a view, as it is when it is opened; `anew` loads the page again, as another user does. */
export async function open(hash, { as = "alice", anew = false } = {}) {
  const go = (to) => page.evaluate((target) => { location.hash = target; }, to);
  if (anew || isChanged || as !== user) {
    await page.evaluate((name) => sessionStorage.setItem("headrace.user", name), as);
    await go(hash);
    await page.reload();
    [user, isChanged] = [as, false];
  } else {
    const [other, title] = hash === "#/" ? ["#/questions/resort", "Questions"] : ["#/", "Overview"];
    await go(other);
    await page.waitForFunction((begin) => document.title.startsWith(begin), title);
    await go(hash);
  }
}

/** Lets time pass in the page. */
export async function pass(milliseconds) {
  isChanged = true;
  await page.evaluate((more) => {
    const now = Date.now.bind(Date);
    Date.now = () => now() + more;
  }, milliseconds);
}

/** What the page shows suits everybody: it fits a phone, and axe finds nothing serious, light and dark. */
export async function suitsEverybody() {
  for (const { name, viewport, colorScheme } of LOOKS) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(viewport);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name}: it is too wide`);
    const { violations } = await page.evaluate(`${AXE}; axe.run(document, { resultTypes: ["violations"] })`);
    const grave = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
    const found = grave.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html }) => html.slice(0, 160)).join(" | ")}`);
    assert.deepEqual(found, [], name);
  }
}
