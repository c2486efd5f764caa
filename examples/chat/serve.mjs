// Serves dist/ beside a local stage: `npm start`, or `make example` in the root of the repository.
//
// The issuer of a local stage answers no page of another port. So this server passes requests of /sign-in/ on to it, for
// its own page alone. STAGE is the file in which a stage says its addresses, and PORT the port, by default 3000.
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";

const HERE = import.meta.dirname;
const STAGE = process.env.STAGE ?? join(HERE, "..", "..", ".local", "stage.json");
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
const LOOPBACK = "http://127.0.0.1:* http://localhost:* ws://127.0.0.1:* ws://localhost:*";
const POLICY = `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' ${LOOPBACK}; connect-src 'self' ${LOOPBACK}`;

const stage = () => JSON.parse(readFileSync(STAGE, "utf8"));

function config() {
  const { http_url: httpUrl, websocket_url: wsUrl, client_id: clientId } = stage();
  const urls = { authorizeUrl: "/sign-in/authorize", tokenUrl: "/sign-in/token" };
  return JSON.stringify({ httpUrl, wsUrl, ...urls, clientId, scope: "chat:read chat:write" });
}

async function signIn(request, path, answer) {
  const method = request.method;
  const body = method === "POST" ? Buffer.concat(await request.toArray()) : undefined;
  const headers = method === "POST" ? { "content-type": request.headers["content-type"] } : {};
  const found = await fetch(stage().issuer + path, { method, headers, body, redirect: "manual" });
  const kept = ["content-type", "content-security-policy", "cache-control", "location"].filter((name) => found.headers.has(name));
  answer.writeHead(found.status, Object.fromEntries(kept.map((name) => [name, found.headers.get(name)])));
  answer.end(Buffer.from(await found.arrayBuffer()));
}

async function respond(request, answer) {
  const { pathname, search } = new URL(request.url, "http://localhost");
  const { host = "", "sec-fetch-site": site = "none" } = request.headers;
  const isOwn = /^(localhost|127\.0\.0\.1):\d+$/.test(host) && ["none", "same-origin"].includes(site);
  if (pathname === "/config.json" && isOwn) {
    answer.writeHead(200, { "content-type": "application/json", "cache-control": "no-store" }).end(config());
  } else if (pathname.startsWith("/sign-in/") && isOwn) {
    await signIn(request, pathname.slice("/sign-in".length) + search, answer);
  } else {
    const name = pathname === "/" ? "index.html" : pathname.slice(1);
    const type = /^[\w-]+\.\w+$/.test(name) && TYPES[extname(name)];
    const file = type ? readFileSync(join(HERE, "dist", name)) : undefined;
    const headers = { "content-type": type || "text/plain", "content-security-policy": POLICY, "cache-control": "no-cache" };
    answer.writeHead(file ? 200 : 404, headers).end(file ?? "not found");
  }
}

const server = createServer((request, answer) => {
  respond(request, answer).catch((error) => {
    const status = error.code === "ENOENT" && error.path !== STAGE ? 404 : 502;
    answer.writeHead(status).end(error.path === STAGE ? "no stage is running: make up" : error.message);
  });
});
server.on("error", ({ message }) => {
  console.error(`chat: ${message}`);
  process.exitCode = 1;
});
if (!existsSync(STAGE)) {
  console.error(`chat: no stage is running (${STAGE} is missing). In another terminal: make up`);
  process.exit(1);
}
server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => {
  console.log(`chat: http://127.0.0.1:${server.address().port}/ - open it in two windows, and sign in as two users`);
});
