// The console as it is on AWS: its published files, and a person signs in at the issuer's login. The local issuer serves
// the same grants. BUNDLE has the published files by their paths.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname } from "node:path";
import { after, before, test } from "node:test";

import { browser, mark, where } from "./page.mjs";

const ISSUER = where.issuer;
const login = (name, ...scopes) => ({
  name, scopes, authorizeUrl: `${ISSUER}/authorize`, tokenUrl: `${ISSUER}/token`, clientId: where.client_id,
});
const CONFIG = {
  httpUrl: where.http_url, scopePrefix: "",
  logins: [login("people", "chat:read", "chat:write"), login("operators", "ops")],
};
const BUNDLE = JSON.parse(process.env.BUNDLE);
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
// As templates/console.yaml has it, with the addresses of the stage.
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none';"
  + ` frame-ancestors 'none'; require-trusted-types-for 'script'; connect-src 'self' ${where.http_url} ${ISSUER}/token`;
const asIs = (status, json) => [status, json];

/** The bucket. */
const server = createServer((request, response) => {
  const key = new URL(request.url, "http://bucket").pathname.slice(1) || "index.html";
  if (key === "console/config.json") {
    response.end(JSON.stringify(CONFIG));
  } else if (key in BUNDLE) {
    response.setHeader("content-security-policy", POLICY);
    response.setHeader("content-type", TYPES[extname(key)]).end(readFileSync(BUNDLE[key]));
  } else {
    response.writeHead(404).end();
  }
});
let address;

before(async () => {
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  address = `http://127.0.0.1:${server.address().port}/`;
});

after(() => server.close());

/** The console with `CONFIG`. `tokens` has the forms that ask for tokens; `change` may change an answer. */
async function open(hash, change = asIs) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const tokens = [];
  await page.route(`${ISSUER}/token`, async (route) => {
    const form = new URLSearchParams(route.request().postData());
    tokens.push(form.get("grant_type"));
    const answer = await fetch(`${ISSUER}/token`, { method: "POST", body: form });
    const [status, json] = change(answer.status, await answer.json());
    await route.fulfill({ status, json, headers: { "access-control-allow-origin": "*" } });
  });
  await page.goto(address + hash);
  // The page of the login. The local stage answers no request that a page of another port causes, so the test signs in
  // there, and opens the address to which the login sends the browser back.
  await page.route(`${ISSUER}/authorize?*`, (route) => route.fulfill({ contentType: "text/html", body: "<h1>Login</h1>" }));
  const signIn = async (user, button = "Sign in") => {
    await page.locator("main").getByRole("button", { name: button, exact: true }).click();
    await page.getByRole("heading", { name: "Login" }).waitFor();
    const body = new URLSearchParams({ user });
    const answer = await fetch(page.url(), { method: "POST", body, redirect: "manual" });
    await page.goto(answer.headers.get("location"));
  };
  return { page, tokens, signIn, close: () => context.close() };
}

const NEEDED = "This view needs the scopes chat:read and chat:write.";

test("a person signs in with a code and PKCE, comes back to the view, and stays signed in after a reload", async () => {
  const user = `ann-${mark()}`;
  const { page, tokens, signIn, close } = await open("#/people/me");
  await page.getByText(NEEDED).waitFor();
  await signIn(user);
  await page.getByRole("region", { name: `Yourself: ${user}` }).getByText("No export is there.").waitFor();
  assert.equal(new URL(page.url()).search, "", "the code leaves the address");
  assert.equal(new URL(page.url()).hash, "#/people/me");
  await page.reload();
  await page.getByText(`as ${user}`, { exact: true }).waitFor();
  await page.getByText("No export is there.").waitFor();
  assert.deepEqual(tokens, ["authorization_code"]);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText(NEEDED).waitFor();
  await close();
});

test("an operator signs in at the other login, and a view says that no person can have its scope", async () => {
  const { page, signIn, close } = await open("#/");
  await page.getByText("This view needs the scope ops.").waitFor();
  await signIn("olga", "Sign in as an operator");
  await page.getByText("How many events were accepted and stored is in CloudWatch").waitFor();
  assert.equal(await page.getByRole("button", { name: "Kill RabbitMQ" }).count(), 0);
  await page.getByRole("link", { name: "Dead lane" }).click();
  await page.getByText("Each action is a line in the functions’ logs.").waitFor();
  await page.getByRole("link", { name: "Questions" }).click();
  await page.getByText("No login of this stage gives it to a person.").waitFor();
  await page.getByRole("link", { name: "Personal data" }).click();
  await page.getByRole("region", { name: "Any user" }).waitFor();
  assert.equal(await page.getByRole("region", { name: /^Yourself/ }).count(), 0);
  await close();
});

test("a token that ends is renewed, and with an outdated refresh token one signs in again", async () => {
  let isOutdated = false;
  // 60 seconds before its end, the console renews a token.
  const { page, tokens, signIn, close } = await open("#/people", (status, json) =>
    isOutdated ? [400, { error: "invalid_grant" }] : [status, { ...json, expires_in: 60 }]);
  await signIn(`ann-${mark()}`);
  await page.getByText("No export is there.").waitFor();
  assert.deepEqual(tokens.slice(0, 2), ["authorization_code", "refresh_token"]);
  isOutdated = true;
  await page.reload();
  await page.getByRole("heading", { name: "Login" }).waitFor();
  await close();
});

test("a code that this tab did not ask for is not redeemed", async () => {
  const { page, tokens, close } = await open("?code=stolen&state=made-up#/people");
  await page.getByRole("button", { name: "Sign in", exact: true }).waitFor();
  assert.equal(page.url(), `${address}#/people`);
  assert.deepEqual(tokens, []);
  await close();
});
