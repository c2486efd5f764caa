// Buttons of the local stage: traffic, an outage of the broker, and a record that can never be stored.
import { html, useEffect, useState } from "../htm.js";
import { local } from "../session.js";
import { clock, localTexts, texts } from "../texts.js";

const OUTAGE = 10; // seconds
const MESSAGES = 100;
const PAUSE = 50; // milliseconds

const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** `accepting`: the lane that new events take, as GET /status says. */
export function Tools({ client, accepting }) {
  const [busy, setBusy] = useState({});
  const [outage, setOutage] = useState(); // "killed" until GET /status says it, then "away" until it says that it is over
  const [log, setLog] = useState([]);
  const tell = (text) => setLog((lines) => [[clock(Date.now()), text], ...lines].slice(0, 4));

  useEffect(() => {
    if (outage === "killed" && accepting !== "main") {
      setOutage("away");
    } else if (outage === "away" && accepting === "main") {
      setOutage(undefined);
      tell(localTexts.back);
    }
  }, [outage, accepting]);

  const run = (name, work) => async () => {
    setBusy((all) => ({ ...all, [name]: true }));
    try {
      await work();
    } catch (error) {
      tell(texts.failed(error.message));
    }
    setBusy((all) => ({ ...all, [name]: false }));
  };
  const traffic = run("traffic", async () => {
    const sending = [];
    for (let n = 1; n <= MESSAGES; n += 1) {
      sending.push(client.send("traffic", `message ${n}`));
      await sleep(PAUSE);
    }
    const accepted = await Promise.all(sending);
    tell(localTexts.trafficDone(MESSAGES, accepted.filter(({ lane }) => lane === "retry").length));
  });
  const kill = run("kill", async () => {
    await local("/kill", { service: "RabbitMQ", seconds: OUTAGE });
    setOutage("killed");
    tell(localTexts.killed);
  });
  const poison = run("poison", async () => {
    await local("/console/poison", {});
    tell(localTexts.poisoned);
  });
  return html`
    <section class="tools" aria-labelledby="tools-title">
      <h2 id="tools-title">${localTexts.tools}</h2>
      <div class="row">
        <button disabled=${busy.traffic} onClick=${traffic}>${busy.traffic ? localTexts.trafficRuns : localTexts.traffic}</button>
        <button class="danger" disabled=${busy.kill || outage !== undefined} onClick=${kill}>${localTexts.kill}</button>
        <button class="danger" disabled=${busy.poison} onClick=${poison}>${localTexts.poison}</button>
      </div>
      <p class="note">${localTexts.toolsNote}</p>
      <ul role="log" aria-label=${localTexts.tools}>
        ${log.map(([at, text]) => html`<li key=${at + text}><time>${at}</time> ${text}</li>`)}
      </ul>
    </section>
  `;
}
