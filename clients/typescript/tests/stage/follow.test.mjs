// Clients on a local stage miss nothing and repeat nothing, whatever happens to their connections.
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { clientOf, collect, Proxy, sleep, tokensOf, unique, until } from "./stage.mjs";

const RECONNECTS = Number(process.env.RECONNECTS || 100);

/** Send messages one after the other, and call `midway` after a third of them. */
async function sendAll(room, count, midway = async () => {}) {
  const alice = clientOf(unique("alice"));
  const sent = [];
  for (let number = 0; number < count; number += 1) {
    const text = `message ${number}`;
    assert.match((await alice.send(room, text)).lane, /main|retry/);
    sent.push(text);
    if (number === Math.floor(count / 3)) {
      await midway();
    }
    await sleep(100);
  }
  return sent;
}

/** Wait until all clients have what was sent, and a moment for what would be too much. */
async function report(name, all, sent, more) {
  await until(() => all.every((each) => each.has(sent)));
  await sleep(1_000);
  const wrong = all.map((each) => each.wrong(sent));
  const [missing, repeated] = ["missing", "repeated"].map((kind) => wrong.reduce((sum, each) => sum + each[kind], 0));
  console.log(`${name}: ${all.length} clients, ${sent.length} messages: missing ${missing}, repeated ${repeated}; ${more()}`);
  assert.deepEqual([missing, repeated], [0, 0]);
}

describe("one client", { concurrency: true }, () => {
  test("renews its token", async () => {
    const room = unique("room");
    const client = clientOf(unique("bob"), { ttl: 10, settings: { renewBefore: 5_000 } });
    const following = client.follow(room);
    const found = collect(following);
    await following.ready;
    const sent = await sendAll(room, 9, () => sleep(11_000));
    await report("tokens that are renewed", [found], sent, () => `connections ${client.opens}`);
    assert.equal(client.opens, 1);
    client.close();
  });

  test("connects again when its token has expired", async () => {
    const room = unique("room");
    const newToken = tokensOf(unique("bob"), { ttl: 3 });
    let last;
    // The renewals of an open connection get the token that it has.
    const token = () => (client.state === "open" ? last : (last = newToken()));
    const client = clientOf("", { token, settings: { renewBefore: 0, pingInterval: 500 } });
    const following = client.follow(room);
    const found = collect(following);
    await following.ready;
    const sent = await sendAll(room, 40);
    await report("tokens that expire", [found], sent, () => `connections ${client.opens}`);
    assert.ok(client.opens > 1);
    client.close();
  });

  test("finds out that its connection died in its sleep", async () => {
    const [room, proxy] = [unique("room"), await new Proxy().start()];
    const settings = { pingInterval: 1_000, pingTimeout: 1_000 };
    const client = clientOf(unique("bob"), { wsUrl: proxy.url, settings });
    const following = client.follow(room);
    const found = collect(following);
    await following.ready;
    const sent = await sendAll(room, 15, async () => proxy.freeze());
    await report("a connection that died in silence", [found], sent, () => `connections ${client.opens}`);
    assert.ok(client.opens > 1);
    client.close();
    proxy.stop();
  });

  test("waits for a server that is deployed", async () => {
    const [room, proxy] = [unique("room"), await new Proxy().start()];
    const client = clientOf(unique("bob"), { wsUrl: proxy.url });
    const following = client.follow(room);
    const found = collect(following);
    await following.ready;
    const sent = await sendAll(room, 15, async () => {
      proxy.isDown = true;
      proxy.closeAll();
      setTimeout(() => (proxy.isDown = false), 2_000);
    });
    await report("a server that is deployed", [found], sent, () => `connections ${client.opens}`);
    assert.ok(client.opens > 1);
    client.close();
    proxy.stop();
  });
});

test("users whose connections are cut miss no change", async () => {
  const [owner, proxy] = [clientOf(unique("alice")), await new Proxy().start()];
  const users = Array.from({ length: 10 }, () => unique("bob"));
  const clients = users.map((user) => clientOf(user, { wsUrl: proxy.url }));
  const followings = clients.map((client, index) => client.followUser(users[index]));
  const found = followings.map((each) => collect(each, (change) => `${change.changed} ${change.roomId ?? ""}`));
  await Promise.all(followings.map(({ ready }) => ready));
  const told = ["lists "];
  for (let number = 0; number < 3; number += 1) {
    const roomId = unique("room");
    await owner.request("PUT /rooms/{roomId}", { roomId, kind: "members" });
    proxy.closeAll();
    await Promise.all(
      users.map((userId) => owner.request("PUT /rooms/{roomId}/members/{userId}", { roomId, userId })),
    );
    told.push(`invitation ${roomId}`);
    await until(() => clients.every((client) => client.opens > number + 1));
  }
  await report("users whose connections are cut", found, told, () => `connections ${clients[0].opens}`);
  clients.forEach((client) => client.close());
  proxy.stop();
});

test("followers of a key whose connections are cut miss no event", async () => {
  const [door, proxy] = [unique("door"), await new Proxy().start()];
  const gate = clientOf(unique("gate"), { scopes: ["events:write"] });
  const followers = Array.from({ length: 10 }, () => clientOf(unique("guard"), { scopes: ["analytics:read"], wsUrl: proxy.url }));
  const followings = followers.map((client) => client.stream("doors").follow(door));
  const found = followings.map((each) => collect(each, (event) => (event === "missed" ? event : event.badge)));
  await Promise.all(followings.map(({ ready }) => ready));
  const badges = [];
  for (let number = 0; number < 3; number += 1) {
    proxy.closeAll();
    for (const badge of [`ann-${number}`, `bob-${number}`]) {
      await gate.stream("doors").send({ door, badge });
      badges.push(badge);
    }
    await until(() => followers.every((client) => client.opens > number + 1));
  }
  await report("followers of a key whose connections are cut", found, badges, () => `connections ${followers[0].opens}`);
  [gate, ...followers].forEach((client) => client.close());
  proxy.stop();
});

test(`${RECONNECTS} clients that lose their connections together`, async () => {
  const [room, proxy] = [unique("room"), await new Proxy().start()];
  // On a busy machine, the last live copies can expire in their queue: the clients then notice it with their next check.
  const options = { wsUrl: proxy.url, settings: { checkInterval: 20_000 } };
  const clients = Array.from({ length: RECONNECTS }, () => clientOf(unique("bob"), options));
  const followings = clients.map((client) => client.follow(room));
  const found = followings.map((each) => collect(each));
  await Promise.all(followings.map(({ ready }) => ready));
  let lost;
  const sent = await sendAll(room, 30, async () => {
    lost = Date.now();
    proxy.closeAll();
  });
  await until(() => clients.every((client) => client.opens > 1));
  const times = proxy.accepted.filter((time) => time > lost).map((time) => Math.floor((time - lost) / 100));
  const most = Math.max(...times.map((time) => times.filter((each) => each === time).length));
  const back = () => `connected again within ${(Math.max(...times) / 10).toFixed(1)} s, at most ${most} in 0.1 s`;
  await report("a storm of reconnects", found, sent, back);
  clients.forEach((client) => client.close());
  proxy.stop();
});
