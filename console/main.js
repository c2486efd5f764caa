// The console: reads the stage every second, and shows it.
import { html, render, useEffect, useState } from "./htm.js";
import { Balance, depths, sumOf } from "./balance.js";
import { BalanceLine, Checks, Lanes, Rates } from "./overview.js";
import { Pane } from "./pane.js";
import { connect, counts, secret } from "./stage.js";
import { texts } from "./texts.js";
import { Tools } from "./tools.js";
import { Way } from "./way.js";

const EVERY = 1_000;
const KEPT = 900; // seconds
const ROOM = "lobby";

const METRICS = {
  accepted: ["Accepted"], stored: ["Stored"], pushed: ["LivePushed", "sent"], retry: ["Accepted", "retry"],
  storedRetry: ["Stored", "retry"],
};

/** Reads counts and status, and keeps what the views need of earlier readings. */
function reader(clientOf) {
  const operator = clientOf("operator", "ops");
  const balance = new Balance();
  const history = [];
  const since = {};
  let before;
  let waitSeconds = 0;
  return async () => {
    const [found, status] = await Promise.all([counts(), operator.request("GET /status", {}, { tries: 1 })]);
    const now = Date.now();
    const sums = Object.fromEntries(Object.entries(METRICS).map(([name, metric]) => [name, sumOf(found, ...metric)]));
    if (before !== undefined) {
      const seconds = (now - before.now) / 1_000;
      const rates = Object.entries(sums).map(([name, sum]) => [name, Math.max(0, sum - before.sums[name]) / seconds]);
      history.push(Object.fromEntries(rates));
      history.splice(0, history.length - KEPT);
    }
    before = { now, sums };
    const held = depths(status);
    for (const [name, number] of Object.entries(held)) {
      since[name] = number > 0 ? (since[name] ?? now) : undefined;
    }
    waitSeconds = found.waitSeconds || waitSeconds;
    const rates = history.at(-1) ?? Object.fromEntries(Object.keys(METRICS).map((name) => [name, 0]));
    return { now, status, held, since, waitSeconds, history, rates, balance: balance.take(found, status, now) };
  };
}

function Console({ clientOf }) {
  const [seen, setSeen] = useState();
  const [failure, setFailure] = useState("");
  useEffect(() => {
    const read = reader(clientOf);
    let timer;
    const look = async () => {
      try {
        setSeen(await read());
        setFailure("");
      } catch (error) {
        setFailure(error.message);
      }
      timer = setTimeout(look, EVERY);
    };
    look();
    return () => clearTimeout(timer);
  }, []);
  const chat = (user) => clientOf(user, "chat:read", "chat:write");
  return html`
    ${failure !== "" && html`<p class="failure" role="alert">${texts.stageAway(failure)}</p>`}
    ${seen === undefined
      ? html`<p class="loading">${texts.loading}</p>`
      : html`
          <${BalanceLine} balance=${seen.balance} />
          <${Way} rates=${seen.rates} balance=${seen.balance} held=${seen.held}
            brokerAway=${seen.status.lanes.main.state === "away"} />
        `}
    <div class="panes">
      <${Pane} client=${chat("alice")} user="alice" room=${ROOM} />
      <${Pane} client=${chat("bob")} user="bob" room=${ROOM} />
      <${Tools} client=${chat("carol")} />
    </div>
    ${seen !== undefined && html`
      <div class="details">
        <${Rates} history=${seen.history} />
        <${Lanes} status=${seen.status} waitSeconds=${seen.waitSeconds} since=${seen.since} now=${seen.now} />
        <${Checks} status=${seen.status} />
      </div>
    `}
  `;
}

const main = document.getElementById("main");
if (secret() === null) {
  render(html`<section><h2>${texts.noSecret}</h2><p>${texts.noSecretHelp}</p></section>`, main);
} else {
  render(html`<p class="loading">${texts.loading}</p>`, main);
  connect().then(
    (clientOf) => render(html`<${Console} clientOf=${clientOf} />`, main),
    (error) => render(html`<p class="failure" role="alert">${texts.stageAway(error.message)}</p>`, main),
  );
}
