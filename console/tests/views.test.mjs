// The frame of the console: links, titles and focus, the keyboard, and an address without the secret.
import assert from "node:assert/strict";
import { test } from "node:test";

import { browser, open, page, where } from "./page.mjs";

const VIEWS = { questions: "Questions", streams: "Streams", people: "Personal data", "dead-letters": "Dead lane", "": "Overview" };
const focused = (element) => element.evaluate((each) => each === document.activeElement);

/** Presses Tab until the element has the focus, as a reader without a mouse does. */
async function tabTo(element, most = 60) {
  await element.waitFor();
  for (let pressed = 0; pressed < most && !(await focused(element)); pressed += 1) {
    await page.keyboard.press("Tab");
  }
  assert.ok(await focused(element), `Tab does not lead to ${element}`);
}

test("every view is a link, has a title, and takes the focus", async () => {
  await open("#/", { anew: true });
  const links = page.getByRole("navigation", { name: "Views" }).getByRole("link");
  await links.first().waitFor();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
  assert.deepEqual((await links.allInnerTexts()).sort(), Object.values(VIEWS).sort());
  for (const [path, name] of Object.entries(VIEWS)) {
    await tabTo(links.filter({ hasText: name }));
    await page.keyboard.press("Enter");
    await page.waitForFunction((title) => document.title === `${title} · Headrace` && document.activeElement.textContent === title, name);
    assert.equal(new URL(page.url()).hash, `#/${path}`);
    assert.equal(await page.locator("header nav [aria-current=page]").innerText(), name);
  }
});

test("the keyboard is enough to ask, and to read the dead lane again", async () => {
  await open("#/questions");
  const button = (name) => page.getByRole("button", { name, exact: true });
  await tabTo(button("Last day"));
  await page.keyboard.press("Enter");
  await page.locator(".known").waitFor();
  await tabTo(page.getByRole("link", { name: "Dead lane" }));
  await page.keyboard.press("Enter");
  await tabTo(button("Read again"));
  await Promise.all([page.waitForResponse("**/dead-letters?*"), page.keyboard.press("Enter")]);
});

test("a link that is opened as soon as it is drawn leads to its view", async () => {
  const fresh = await browser.newPage();
  await fresh.addInitScript(() => {
    new MutationObserver((_, observer) => {
      if (document.querySelector("header nav") !== null) {
        observer.disconnect();
        location.hash = "#/questions";
      }
    }).observe(document, { childList: true, subtree: true });
  });
  await fresh.goto(where.console_url);
  await fresh.waitForFunction(() => document.title.startsWith("Questions"));
  await fresh.close();
});

test("without the secret, the page says what to open, and takes the secret in the same tab", async () => {
  const fresh = await browser.newPage();
  const url = new URL(where.console_url);
  await fresh.goto(url.origin);
  await fresh.getByText("needs the whole address").waitFor();
  await fresh.goto(url.href);
  await fresh.getByRole("navigation", { name: "Views" }).waitFor();
  assert.equal(fresh.url(), `${url.origin}/`);
  assert.equal(await fresh.getByText("the terminal of the stage").count(), 0);
  await fresh.close();
});

test("a script of the console that cannot be had is said on the page", async () => {
  const fresh = await browser.newPage();
  await fresh.route("**/console/htm.js", (route) => route.abort());
  await fresh.goto(where.console_url);
  await fresh.getByText("the terminal of the stage").waitFor();
  await fresh.close();
});
