// Follows a room and prints each text, as a program of its own: it can be stopped, with all of its timers.
import { clientOf, unique } from "./stage.mjs";

const [room, wsUrl] = process.argv.slice(2);
const following = clientOf(unique("bob"), { wsUrl, settings: { pingTimeout: 1_000 } }).follow(room);
await following.ready;
console.log("ready");
for await (const { message } of following) {
  console.log(message);
}
