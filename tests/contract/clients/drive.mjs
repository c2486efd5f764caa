// Makes the requests and sends the frames that standard input names, with the built client in the folder that is given.
// Prints what the client returns.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { Headrace } = await import(pathToFileURL(`${process.argv[2]}/dist/index.js`));
const { httpUrl, wsUrl, calls } = JSON.parse(readFileSync(0, "utf8"));
// A new token each time: the one that expires is renewed by another.
const headrace = new Headrace({ httpUrl, wsUrl, token: () => "h.p.s", settings: { retryTimeout: 1 } });
const answers = {};
for (const [operation, parameters] of calls) {
  answers[operation] = await headrace.request(operation, parameters);
}
await headrace.send("kitchen", "over HTTP");

const signals = [];
const signalled = new Promise((done) => headrace.on("signal", (signal) => done(signals.push(signal))));
const { position } = await headrace.frame("history", { roomId: "kitchen", limit: 1 });
const kitchen = headrace.follow("kitchen", { since: position });
await kitchen.ready;
const messages = [];
for await (const message of kitchen) {
  messages.push(message);
  await signalled;
  break; // leaving the loop unsubscribes
}
const changes = [];
for await (const change of headrace.followUser("alice")) {
  changes.push(change);
  if (changes.length === 2) break;
}
const { lane } = await headrace.send("kitchen", "over the connection");
await headrace.frame("sendMessage", { roomId: "kitchen", message: "as one frame" });
await headrace.signal("kitchen", "typing");
const message = { roomId: "kitchen", key: "2026-11-22T10:00:00.000000Z#m-1#fpmansl7byak" };
await headrace.frame("editMessage", { ...message, message: "hello, all" });
await headrace.frame("deleteMessage", message);
await headrace.frame("react", { ...message, value: "👍" });
await headrace.frame("unreact", message);
await headrace.frame("sendEvents", { stream: "doors", events: [{ door: "front", badge: "alice" }] });
await headrace.frame("follow", { stream: "doors", key: "front" });
await headrace.frame("unfollow", { stream: "doors", key: "front" });
const checked = await headrace.check({ kitchen: position });
await headrace.frame("authenticate", { token: "h.p.s" });
headrace.close();
console.log(JSON.stringify({ answers, messages, changes, signals, lane, checked }));
