// Buttons of the local stage: traffic, an outage of the broker, and a record that can never be stored.
import { html, useState } from "../htm.js";
import { local } from "../session.js";
import { clock, localTexts, texts } from "../texts.js";

const OUTAGE = 10; // seconds
const MESSAGES = 100;
const PAUSE = 100; // milliseconds

const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

export function Tools({ client }) {
  const [busy, setBusy] = useState({});
  const [log, setLog] = useState([]);
  const tell = (text) => setLog((lines) => [[clock(Date.now()), text], ...lines].slice(0, 4));

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
    await Promise.all(sending);
    tell(localTexts.trafficDone(MESSAGES));
  });
  const outage = run("kill", async () => {
    await local("/kill", { service: "RabbitMQ", seconds: OUTAGE });
    tell(localTexts.killed);
    await sleep(OUTAGE * 1_000);
    tell(localTexts.back);
  });
  const poison = run("poison", async () => {
    await local("/console/poison", {});
    tell(localTexts.poisoned);
  });
  return html`
    <section class="tools" aria-labelledby="tools-title">
      <h2 id="tools-title">${localTexts.tools}</h2>
      <p class="note">${localTexts.toolsNote}</p>
      <button disabled=${busy.traffic} onClick=${traffic}>${busy.traffic ? localTexts.trafficRuns : localTexts.traffic}</button>
      <button class="danger" disabled=${busy.kill} onClick=${outage}>${localTexts.kill}</button>
      <button class="danger" disabled=${busy.poison} onClick=${poison}>${localTexts.poison}</button>
      <ul role="log" aria-label=${localTexts.tools}>
        ${log.map(([at, text]) => html`<li key=${at + text}><time>${at}</time> ${text}</li>`)}
      </ul>
    </section>
  `;
}
