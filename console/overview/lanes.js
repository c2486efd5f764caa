// Each lane over 15 minutes: its state, what it holds, how much comes and goes, and how long it waits.
import { Chart } from "../chart.js";
import { html } from "../htm.js";
import { clock, duration, localTexts, read, texts } from "../texts.js";
import { Word } from "./checks.js";

const TONES = { main: "accent", retry: "busy", dead: "bad", parked: "bad" };

/** What comes into a lane, and what leaves it: names and lanes of metrics. */
const FLOWS = {
  main: { in: [["Accepted", "main"]], out: [["Stored", "main"]] },
  retry: { in: [["Accepted", "retry"], ["HandedOver"]], out: [["Stored", "retry"]] },
  dead: { in: [["Dead"]], out: [["Redriven"]] },
};

/** The sum of the series of some metrics, for each point; without a lane, of all lanes. */
function sumSeries({ rows, start, step }, metrics, points) {
  const chosen = rows.filter(([name, lane]) => metrics.some(([wanted, only = lane]) => wanted === name && only === lane));
  return Array.from({ length: points }, (_, i) => chosen.reduce((sum, row) => sum + row[2][i], 0));
}

/** For each point, the largest of what `value` says of the readings in it; undefined where there is none. */
function ofReadings(held, times, step, value) {
  const points = times.map(() => undefined);
  for (const reading of held) {
    const i = Math.floor((reading[0] - times[0]) / step);
    const found = value(reading);
    if (i >= 0 && i < points.length && found !== undefined) {
      points[i] = Math.max(points[i] ?? 0, found);
    }
  }
  return points;
}

function Lane({ name, seen }) {
  const { status, held, counts } = seen;
  const { step, start } = counts.series;
  const points = counts.series.rows[0]?.[2].length ?? 0;
  const whole = Math.max(0, points - 1); // the last point is not whole
  const times = Array.from({ length: whole }, (_, i) => (start + i * step) * 1_000);
  const perSecond = (metrics) => sumSeries(counts.series, metrics, points).slice(0, whole).map((sum) => sum / step);
  const flow = FLOWS[name];
  const depth = held.at(-1)[1][name];
  // A lane has one row of its waits: the sum is the row.
  const wait = sumSeries(counts.series, [["WaitSeconds", name]], points).map((seconds) => seconds * 1_000);
  const holding = times.length === 0 ? [] : ofReadings(held, times, step * 1_000, ([, , ages]) => ages[name]);
  const ages = holding.map((age, i) => (age === undefined && wait[i] === 0 ? undefined : Math.max(age ?? 0, wait[i])));
  return html`
    <div class="lane-row">
      <p><b>${texts.laneNames[name]}</b> <${Word} state=${status.lanes[name].state} /></p>
      <p class="holds"><b>${read(depth)}</b> ${texts.laneHolds}</p>
      ${flow === undefined
        ? html`<${Chart} title=${localTexts.laneDepth} times=${times} height="44" at=${clock}
            lines=${[{ name: localTexts.laneRecords, values: ofReadings(held, times, step * 1_000, ([, depths]) => depths[name]), tone: TONES[name] }]} />`
        : html`<${Chart} title=${localTexts.laneRate} times=${times} height="44" show=${localTexts.rate} at=${clock}
            lines=${[
              { name: localTexts.laneIn[name], values: perSecond(flow.in), tone: TONES[name] },
              { name: localTexts.laneOut[name], values: perSecond(flow.out), tone: "good" },
            ]} />`}
      <${Chart} title=${localTexts.laneAge} times=${times} height="44" show=${duration} at=${clock}
        lines=${[{ name: localTexts.laneWaits[name], values: ages, tone: TONES[name] }]} />
    </div>
  `;
}

export const Lanes = ({ seen }) => html`
  <section class="lanes" aria-labelledby="lanes-title">
    <h2 id="lanes-title">${localTexts.lanes}</h2>
    ${Object.keys(texts.laneNames).map((name) => html`<${Lane} key=${name} name=${name} seen=${seen} />`)}
    <p class="note">${localTexts.lanesNote}</p>
  </section>
`;

/** Without the counts of a local stage: what the lanes hold. */
export const LaneTable = ({ seen }) => html`
  <section aria-labelledby="lanes-title">
    <h2 id="lanes-title">${texts.lanesNow}</h2>
    <table>
      <thead><tr><th scope="col">${texts.lane}</th><th scope="col">${texts.laneState}</th><th scope="col">${texts.laneHolds}</th></tr></thead>
      <tbody>
        ${Object.keys(texts.laneNames).map((name) => {
          const depth = seen.held.at(-1)[1][name];
          return html`
            <tr key=${name}>
              <th scope="row">${texts.laneNames[name]}</th>
              <td><${Word} state=${seen.status.lanes[name].state} /></td>
              <td>${read(depth)}</td>
            </tr>`;
        })}
      </tbody>
    </table>
    <p class="note">${texts.noCounts}</p>
  </section>
`;
