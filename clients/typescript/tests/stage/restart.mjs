// Follows a room and sends to it while the stage is stopped and starts again. Prints what was missed and repeated.
import { clientOf, collect, sleep, unique, until } from "./stage.mjs";

const room = unique("room");
const [alice, bob] = [clientOf(unique("alice"), { settings: { tries: 100 } }), clientOf(unique("bob"))];
const following = bob.follow(room);
const found = collect(following);
await following.ready;
const sent = [];
for (let number = 0; number < 30; number += 1) {
  const text = `message ${number}`;
  await alice.send(room, text);
  sent.push(text);
  if (number === 9) {
    await until(() => found.has(sent));
    console.log("10 messages arrived");
  }
  await sleep(200);
}
await until(() => found.has(sent));
await sleep(1_000);
const { missing, repeated } = found.wrong(sent);
console.log(`a stage that starts anew: ${sent.length} messages: missing ${missing}, repeated ${repeated}; connections ${bob.opens}`);
process.exit(bob.opens > 1 ? 0 : 1);
