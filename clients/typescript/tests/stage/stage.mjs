// A running local stage, and a proxy before its WebSocket API that breaks connections.
import { readFileSync } from "node:fs";
import { connect, createServer } from "node:net";

import { WebSocket } from "ws";

import { Headrace } from "../../dist/index.js";

const where = JSON.parse(readFileSync(process.env.STAGE, "utf8"));

/** A function that gets tokens of a user, each good for `ttl` seconds. */
export function tokensOf(user, { ttl = 3_600, scopes = ["chat:read", "chat:write"] } = {}) {
  return async () => {
    const body = JSON.stringify({ user, scopes, ttl });
    const headers = { "content-type": "application/json" };
    const answer = await fetch(where.token_url, { method: "POST", headers, body });
    return (await answer.json()).access_token;
  };
}

export const httpUrl = where.http_url;
export const wsUrl = where.websocket_url;

export function clientOf(user, options = {}) {
  const { ttl, scopes, ...rest } = options;
  return new Headrace({ httpUrl, wsUrl, token: tokensOf(user, { ttl, scopes }), WebSocket, ...rest });
}

let numbers = 0;
export const unique = (name) => `${name}-${Date.now()}-${++numbers}`;

export const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** Wait until `isTrue()`; the time limit of the test ends it. */
export async function until(isTrue) {
  while (!isTrue()) {
    await sleep(20);
  }
}

/** A TCP proxy before the WebSocket API. */
export class Proxy {
  #pairs = new Set();
  #server = createServer((client) => this.#accept(client));
  isDown = false;
  accepted = [];

  async start() {
    await new Promise((done) => this.#server.listen(0, "127.0.0.1", done));
    const url = new URL(wsUrl);
    this.target = Number(url.port);
    url.port = this.#server.address().port;
    this.url = String(url);
    return this;
  }

  #accept(client) {
    client.on("error", () => {});
    if (this.isDown) {
      client.destroy();
      return;
    }
    this.accepted.push(Date.now());
    const upstream = connect(this.target, "127.0.0.1");
    const pair = [client, upstream];
    this.#pairs.add(pair);
    client.pipe(upstream).pipe(client);
    for (const socket of pair) {
      socket.on("error", () => {});
      socket.on("close", () => {
        if (!pair.isFrozen) {
          pair.forEach((each) => each.destroy());
        }
        this.#pairs.delete(pair);
      });
    }
  }

  /** Close all connections, as a server does that is deployed. */
  closeAll() {
    [...this.#pairs].forEach((pair) => pair.forEach((socket) => socket.destroy()));
  }

  /** All connections stay open, and nothing passes any more, as after the sleep of a laptop. */
  freeze() {
    for (const pair of this.#pairs) {
      const [client, upstream] = pair;
      pair.isFrozen = true;
      client.unpipe(upstream);
      upstream.unpipe(client);
      pair.forEach((socket) => socket.resume());
    }
  }

  stop() {
    this.closeAll();
    this.#server.close();
  }
}

/**
 * Collect what a client gets: the texts of messages, or what `text` returns. `wrong(texts)` counts what is missing and
 * repeated of these.
 */
export function collect(following, text = ({ message }) => message) {
  const texts = [];
  (async () => {
    for await (const message of following) {
      texts.push(text(message));
    }
  })();
  return {
    texts,
    has: (sent) => new Set(texts).size >= sent.length,
    wrong: (sent) => ({
      missing: sent.filter((text) => !texts.includes(text)).length,
      repeated: texts.length - new Set(texts).size,
    }),
  };
}
