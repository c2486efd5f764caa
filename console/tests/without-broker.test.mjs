// The whole form of the tests: the broker is killed, and traffic takes the retry lane.
import assert from "node:assert/strict";
import { test } from "node:test";

import { open, page } from "./page.mjs";

test("the broker is killed: the page says so, traffic takes the retry lane and is stored, and nothing is lost", async () => {
  await open("#/");
  const told = page.getByRole("log", { name: "Try it" });
  const broker = page.locator(".node.bad").filter({ hasText: "RabbitMQ" });
  await page.getByRole("button", { name: "Kill RabbitMQ" }).click();
  await broker.getByText("away").waitFor();
  await page.getByRole("button", { name: "Send traffic" }).click();
  await page.locator(".edge.flows.retry").first().waitFor({ state: "attached" }); // a line has no height
  assert.equal(await page.locator(".verdict b").innerText(), "✓ lost 0");
  await told.getByText(/^.* in the retry lane\.$/).waitFor();
  assert.doesNotMatch(await told.innerText(), / 0 in the retry lane/);
  await told.getByText("RabbitMQ answers again.").waitFor();
  await broker.waitFor({ state: "detached" });
  await page.locator(".term.retry.zero").waitFor();
  await page.locator(".term.main").waitFor({ state: "detached" });
  assert.equal(await page.locator(".verdict b").innerText(), "✓ lost 0");
});
