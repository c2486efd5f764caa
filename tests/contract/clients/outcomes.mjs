// Does the jobs that standard input names, all at once, with the built client in the folder that is given. Prints how
// each ends: "ok", or the code of its error.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { Headrace } = await import(pathToFileURL(`${process.argv[2]}/dist/index.js`));
const { jobs, ride } = JSON.parse(readFileSync(0, "utf8"));
const settings = { firstPause: 10, longestPause: 50, answerTimeout: 1_000, retryTimeout: 60_000 };

const works = {
  read: (client) => client.request("GET /rooms/{roomId}/messages", { roomId: "kitchen" }),
  send: (client) => client.send("kitchen", "hello"),
  rides: (client) => accepted(client.sendMany("rides", [ride])),
  clicks: (client) => accepted(client.sendMany("clicks", [{ adId: "a1", adType: "banner" }])),
  async follow(client) {
    try {
      for await (const message of client.follow("kitchen")) {
        return message;
      }
    } catch (error) {
      await client.follow("den").next().then(
        () => Promise.reject(new Error("a later follower waits")),
        (later) => later.code === error.code || Promise.reject(later),
      );
      throw error;
    }
    throw new Error("the loop ended as if all were well");
  },
};

async function accepted(sending) {
  const [{ error }] = await sending;
  if (error !== undefined) {
    throw error;
  }
}

const outcomes = jobs.map(async ({ work, http: httpUrl, ws: wsUrl, tokens, is_text: isText }) => {
  const token = isText ? tokens[0] : () => (tokens.length > 1 ? tokens.shift() : tokens[0]);
  const client = new Headrace({ httpUrl, wsUrl, token, settings });
  try {
    await works[work](client);
    return "ok";
  } catch (error) {
    return error.code ?? String(error);
  } finally {
    client.close();
  }
});
console.log(JSON.stringify(await Promise.all(outcomes)));
