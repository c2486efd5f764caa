// The first screen's numbers: the balance, rates, lanes, breakers and probes.
import { html } from "../htm.js";
import { depths } from "./balance.js";
import { count, duration, texts } from "../texts.js";
import { State } from "../ui.js";

/** accepted = stored + lanes, with a sentence that says whether something is lost. */
export function BalanceLine({ balance }) {
  const { accepted, parts, lost, redelivered } = balance;
  const shown = Object.entries(parts).filter(([name, value]) => name !== "main" || value > 0);
  return html`
    <section class="balance" aria-labelledby="balance-title">
      <h2 id="balance-title">${texts.balance}</h2>
      <div class="equation">
        <p class="term"><b>${count(accepted)}</b> <span>${texts.accepted}</span></p>
        ${shown.map(
          ([name, value], index) => html`
            <i>${index === 0 ? "=" : "+"}</i>
            <p class=${`term ${name} ${value === 0 ? "zero" : ""}`}>
              <b>${count(value)}</b> <span>${texts.parts[name]}</span>
            </p>
          `,
        )}
        <p class=${`verdict ${lost > 0 ? "bad" : "good"}`} role="status">
          <b>${lost > 0 ? `✕ ${texts.lost(lost)}` : `✓ ${texts.kept}`}</b>
          <span>${lost > 0 ? texts.lostWhy : texts.keptWhy}</span>
        </p>
      </div>
      <p class="note">${texts.sample}${redelivered > 0 && texts.redelivered(redelivered)}</p>
    </section>
  `;
}

const WIDTH = 220;
const HEIGHT = 36;

function line(points) {
  const highest = Math.max(1, ...points);
  const step = WIDTH / Math.max(1, points.length - 1);
  return points.map((value, i) => `${(i * step).toFixed(1)},${(HEIGHT - (value / highest) * (HEIGHT - 3) - 1).toFixed(1)}`);
}

/** One small chart for each rate. */
export function Rates({ history }) {
  return html`
    <section class="rates" aria-labelledby="rates-title">
      <h2 id="rates-title">${texts.rates}</h2>
      ${Object.keys(texts.rateNames).map((name) => {
        const points = [0, ...history.map((each) => each[name])];
        const now = points.at(-1);
        const drawn = line(points).join(" ");
        return html`
          <div class="rate">
            <span>${texts.rateNames[name]}</span>
            <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img"
              aria-label=${texts.chart(texts.rateNames[name], texts.rate(now))}>
              <polygon points=${`0,${HEIGHT} ${drawn} ${WIDTH},${HEIGHT}`} />
              <polyline points=${drawn} />
            </svg>
            <b>${texts.rate(now)}</b>
          </div>
        `;
      })}
      <p class="note">${texts.ratesNote}</p>
    </section>
  `;
}

const TONES = { ok: "good", empty: "good", away: "bad", open: "bad", missing: "bad" };
const Shown = ({ state }) => html`<${State} tone=${TONES[state] ?? "busy"}>${texts.state[state] ?? state}<//>`;

/** State, size and age of each lane. `since` has the time at which a lane began to hold something. */
export function Lanes({ status, waitSeconds, since, now }) {
  const held = depths(status);
  return html`
    <section class="lanes" aria-labelledby="lanes-title">
      <h2 id="lanes-title">${texts.lanes}</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">${texts.lane}</th><th scope="col">${texts.laneState}</th>
            <th scope="col">${texts.laneHolds}</th><th scope="col">${texts.laneAge}</th>
          </tr>
        </thead>
        <tbody>
          ${Object.keys(texts.laneNames).map((name) => {
            let age = since[name] === undefined ? "" : texts.holding(duration(now - since[name]));
            if (name === "main" && age === "" && waitSeconds > 0) {
              age = texts.stored(duration(waitSeconds * 1_000));
            }
            return html`
              <tr>
                <th scope="row">${texts.laneNames[name]}</th>
                <td><${Shown} state=${status.lanes[name].state} /></td>
                <td>${held[name] === undefined ? "?" : count(held[name])}</td>
                <td>${age}</td>
              </tr>
            `;
          })}
        </tbody>
      </table>
    </section>
  `;
}

/** The lane of new events, circuit breakers, and the newest probes. */
export function Checks({ status }) {
  const { breakers, probes, accepting } = status;
  const notClosed = (breakers.environments ?? []).filter(({ state }) => state !== "closed").length;
  const ages = Object.values(probes.queues ?? {}).flatMap(({ ageSeconds }) => ageSeconds ?? []);
  return html`
    <section class="checks" aria-labelledby="checks-title">
      <h2 id="checks-title">${texts.checks}</h2>
      <dl>
        <dt>${texts.accepting}</dt>
        <dd><${State} tone=${accepting === "main" ? "good" : "busy"}>${texts.acceptingLane[accepting]}<//></dd>
        <dt>${texts.breakers}</dt>
        <dd><${Shown} state=${breakers.state} />
          ${notClosed > 0 && " " + texts.notClosed(notClosed)}</dd>
        <dt>${texts.probes}</dt>
        <dd><${Shown} state=${probes.state} /> ${ages.length > 0 && " " + texts.probesAge(Math.max(...ages))}</dd>
      </dl>
    </section>
  `;
}
