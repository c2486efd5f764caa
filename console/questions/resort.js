// A resort's day: its skiers, the rides of each lift and hour, verticals, and one skier's day.
import { Chart } from "../chart.js";
import { html, useEffect, useState } from "../htm.js";
import { at, count } from "../texts.js";
import { Empty, Failure, Loading, useLoad } from "../ui.js";
import { Answer, Figure } from "./parts.js";
import { texts } from "./texts.js";
import { address } from "./window.js";

/** A lift's vertical is so many times its number. */
const VERTICAL = 10;
const LIFTS = 100;
const ALL = "all";

const sum = (rows) => rows.reduce((total, { rides }) => total + rides, 0);

/**
 * The day of one resort, or of all. No route lists the lifts of one resort: where several resorts have the season, each
 * lift that any of them has is asked for. `left` is the number of lifts that were not.
 */
async function ask(client, resortID, seasonID, dayID) {
  const together = await client.request("GET /resorts/seasons/{seasonID}/days/{dayID}/rides", { seasonID, dayID });
  if (resortID === ALL) {
    return { ...together, left: 0 };
  }
  const day = { resortID, seasonID, dayID };
  const [skiers, { hours }] = await Promise.all([
    client.request("GET /resorts/{resortID}/seasons/{seasonID}/days/{dayID}/skiers", day),
    client.request("GET /resorts/{resortID}/seasons/{seasonID}/days/{dayID}/hours", day),
  ]);
  if (together.resorts === 1 && together.missing.length === 0) {
    return { skiers, hours, lifts: together.lifts, missing: [], left: 0 };
  }
  const lifts = await Promise.all(together.lifts.slice(0, LIFTS).map(({ liftID }) =>
    client.request("GET /resorts/{resortID}/seasons/{seasonID}/days/{dayID}/lifts/{liftID}", { ...day, liftID })));
  const left = Math.max(0, together.lifts.length - LIFTS);
  return { skiers, hours, lifts: lifts.filter(({ rides }) => rides > 0), missing: together.missing, left };
}

function Day({ answer, again, asking }) {
  const { skiers, hours, lifts, missing, left } = answer;
  const rides = sum(hours);
  const vertical = lifts.reduce((total, { liftID, rides: of }) => total + VERTICAL * liftID * of, 0);
  const isWhole = sum(lifts) === rides;
  const notCounted = [
    ...(missing.length > 0 ? [texts.missingResorts(missing.join(", "))] : []),
    ...(left > 0 ? [texts.liftsLeft(left)] : []),
    ...(!isWhole && missing.length === 0 && left === 0 ? [texts.ridesBetween] : []),
  ];
  return html`
    <h3>${answer.title}</h3>
    ${rides === 0 && sum(lifts) === 0
      ? html`<${Empty} title=${texts.noRides}>${texts.noRidesHelp}<//>`
      : html`<dl class="figures">
          ${skiers === undefined
            ? html`<${Figure} name=${texts.figures.resorts} value=${answer.resorts} words=${texts.skiersPerResort} />`
            : html`<${Figure} name=${texts.figures.skiers} value=${skiers.numSkiers} words=${texts.skiersAt(at(skiers.time))} />`}
          <${Figure} name=${texts.figures.rides} value=${rides} words=${texts.exact} />
          <${Figure} name=${texts.figures.vertical} value=${vertical} words=${isWhole ? texts.verticalWords : texts.verticalPart} />
        </dl>`}
    <p class="known"><span>${[texts.ridesWithin, ...notCounted].join(" ")}</span>
      <button type="button" disabled=${asking} onClick=${again}>${asking ? texts.asking : texts.askAgain}</button></p>
    ${rides > 0 && html`
      <${Chart} title=${texts.perHour} bars=${true} times=${hours.map(({ hour }) => hour)} at=${texts.hour}
        lines=${[{ name: texts.columns.rides, values: hours.map((hour) => hour.rides) }]} />
      <div class="tops">
        <div class="scroll high" tabindex="0" role="region" aria-label=${texts.lifts}><table>
          <caption>${texts.lifts}</caption>
          <thead><tr><th scope="col">${texts.columns.liftID}</th><th scope="col" class="number">${texts.columns.rides}</th>
            <th scope="col" class="number">${texts.columns.vertical}</th></tr></thead>
          <tbody>${lifts.map(({ liftID, rides: of }) => html`
            <tr key=${liftID}><th scope="row">${liftID}</th><td class="number">${count(of)}</td>
              <td class="number">${count(VERTICAL * liftID * of)}</td></tr>`)}</tbody>
        </table></div>
        <div class="scroll high" tabindex="0" role="region" aria-label=${texts.hours}><table>
          <caption>${texts.hours}</caption>
          <thead><tr><th scope="col">${texts.columns.hour}</th><th scope="col" class="number">${texts.columns.rides}</th></tr></thead>
          <tbody>${hours.filter((hour) => hour.rides > 0).map((hour) => html`
            <tr key=${hour.hour}><th scope="row">${texts.hour(hour.hour)}</th><td class="number">${count(hour.rides)}</td></tr>`)}</tbody>
        </table></div>
      </div>
    `}
  `;
}

/** One skier's day and season. */
function Skier({ client, resortID, seasonID, dayID }) {
  const [typed, setTyped] = useState("");
  const [skierID, setSkier] = useState();
  const found = useLoad(async () => {
    if (skierID === undefined) {
      return undefined;
    }
    const [day, season] = await Promise.all([
      client.request("GET /skiers/seasons/{seasonID}/days/{dayID}/skiers/{skierID}", { seasonID, dayID, skierID }),
      client.request("GET /skiers/seasons/{seasonID}/skiers/{skierID}", { seasonID, skierID }),
    ]);
    return { day, season };
  }, [skierID, seasonID, dayID]);
  const apply = (event) => {
    event.preventDefault();
    setSkier(typed);
  };
  return html`
    <form class="filter" onSubmit=${apply} aria-label=${texts.skier}>
      <label><span>${texts.skier}</span>
        <input type="number" min="1" max="999999999999" required value=${typed} onInput=${(event) => setTyped(event.currentTarget.value)} /></label>
      <button>${texts.show}</button>
    </form>
    ${skierID !== undefined && html`
      <${Answer} of=${found} absent=${texts.unknownSkier(skierID)}>
        ${({ day, season }) => {
          const here = day.rides.filter((ride) => resortID === ALL || String(ride.resortID) === resortID);
          return html`<dl class="figures">
            <${Figure} name=${texts.figures.dayVertical} value=${day.vertical} words=${texts.allResorts} />
            <${Figure} name=${texts.figures.skierRides} value=${here.length} words=${texts.liftsOf(here.map(({ liftID }) => liftID))} />
            <${Figure} name=${texts.figures.seasonVertical} words=${texts.daysSkied(season.daysSkied)}
              value=${season.days.reduce((total, each) => total + each.vertical, 0)} />
          </dl>`;
        }}
      <//>
    `}
  `;
}

function Choice({ resorts, chosen, choose }) {
  const [resortID, setResort] = useState(chosen.resortID);
  const [seasonID, setSeason] = useState(chosen.seasonID);
  const [dayID, setDay] = useState(chosen.dayID);
  useEffect(() => {
    setResort(chosen.resortID);
    setSeason(chosen.seasonID);
    setDay(chosen.dayID);
  }, [chosen.resortID, chosen.seasonID, chosen.dayID]);
  const apply = (event) => {
    event.preventDefault();
    choose([resortID, seasonID, dayID]);
  };
  return html`
    <form class="filter" onSubmit=${apply} aria-label=${texts.resortTitle}>
      <label><span>${texts.resort}</span>
        <select value=${resortID} onChange=${(event) => setResort(event.currentTarget.value)}>
          <option value=${ALL}>${texts.allResorts}</option>
          ${resorts.map((each) => html`<option key=${each.resortID} value=${String(each.resortID)}>${each.resortName} (${each.resortID})</option>`)}
        </select></label>
      <label><span>${texts.season}</span>
        <input type="number" min="1900" max="2199" required value=${seasonID} onInput=${(event) => setSeason(event.currentTarget.value)} /></label>
      <label><span>${texts.day}</span>
        <input type="number" min="1" max="366" required value=${dayID} onInput=${(event) => setDay(event.currentTarget.value)} /></label>
      <button>${texts.show}</button>
    </form>
  `;
}

export function Resort({ client, path }) {
  const [resortID = ALL, seasonID = String(new Date().getFullYear()), dayID = "1"] = path;
  const isChosen = path.length === 3;
  const title = texts.dayTitle(resortID === ALL ? texts.allResorts : texts.resortNumber(resortID), seasonID, dayID);
  const resorts = useLoad(() => client.request("GET /resorts", {}));
  const found = useLoad(async () => (isChosen ? { ...(await ask(client, resortID, seasonID, dayID)), title } : undefined), [path.join("/")]);
  if (resorts.value === undefined) {
    return resorts.error === undefined ? html`<${Loading} />` : html`<${Failure} error=${resorts.error} again=${resorts.again} />`;
  }
  if (resorts.value.resorts.length === 0) {
    return html`<section><h2>${texts.resortTitle}</h2><${Empty} title=${texts.noResorts}>${texts.noResortsHelp}<//></section>`;
  }
  return html`
    <section aria-labelledby="resort-title">
      <h2 id="resort-title">${texts.resortTitle}</h2>
      <${Choice} resorts=${resorts.value.resorts} chosen=${{ resortID, seasonID, dayID }}
        choose=${(parts) => { location.hash = address("resort", undefined, ...parts); }} />
      ${!isChosen
        ? html`<${Empty} title=${texts.chooseDay} />`
        : html`<${Answer} of=${found} absent=${texts.noSeason(seasonID)}>
            ${(answer) => html`<${Day} answer=${answer} again=${found.again} asking=${found.loading} />`}
          <//>`}
    </section>
    ${isChosen && html`<section aria-labelledby="skier-title"><h2 id="skier-title">${texts.skierTitle}</h2>
      <${Skier} client=${client} resortID=${resortID} seasonID=${seasonID} dayID=${dayID} /></section>`}
  `;
}
