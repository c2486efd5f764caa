// One declared stream, or one key of it: the figures of a window, what has the most events, and the last events.
import { html, useEffect, useState } from "../htm.js";
import { at } from "../texts.js";
import { Empty, Loaded, useLoad } from "../ui.js";
import { Answer, Figure, Known, TopTable, uniqueWords } from "../questions/parts.js";
import { Picker } from "../questions/picker.js";
import { texts as shared } from "../questions/texts.js";
import { addressOf, bounds, windowOf } from "../questions/window.js";
import { texts } from "./texts.js";

const TOP = 10;
const LAST = 50;

function Totals({ totals, of, chosen, here }) {
  const { accuracy, events, sums, window } = totals;
  if (events === 0) {
    return html`<${Empty} title=${texts.noEvents}>${shared.nothingBetween(at(window.from), at(window.to))}<//>`;
  }
  const lists = Object.entries(totals.top).filter(([name]) => name !== of.key || chosen === undefined);
  if (of.user !== undefined) {
    lists.push(["userId", totals.topUsers]);
  }
  return html`
    <dl class="figures">
      <${Figure} name=${texts.columns.events} value=${events} words=${shared.exact} />
      ${of.user !== undefined && html`
        <${Figure} name=${shared.figures.users} value=${totals.uniqueUsers} words=${uniqueWords(accuracy, "userId")} />`}
      ${Object.entries(sums).map(([name, found]) => html`
        <${Figure} key=${name} name=${texts.sum(name)} value=${texts.number(found.sum)} words=${texts.sumOf(found)} />`)}
    </dl>
    <div class="tops">
      ${lists.map(([name, rows]) => html`
        <${TopTable} key=${name} caption=${texts.top(name === "userId" ? of.user : name)} rows=${rows} name=${name} of="events"
          accuracy=${accuracy} href=${name === of.key ? here : undefined} />`)}
    </div>
  `;
}

/** The fields that are declared and no secrets: what is stored of others may have been one. */
function Last({ events, of }) {
  const names = Object.keys(of.schema.properties).filter((name) => name !== "eventId" && name !== "timestamp");
  const secrets = names.filter((name) => of.schema.properties[name].format === "password");
  const shown = names.filter((name) => !secrets.includes(name));
  const caption = texts.newest(events.length);
  return html`
    ${secrets.length > 0 && html`<p class="note">${texts.secrets(secrets)}</p>`}
    <div class="scroll high" tabindex="0" role="region" aria-label=${caption}><table class="stored">
      <caption>${caption}</caption>
      <thead><tr>${[texts.columns.time, ...shown, "eventId"].map((name) => html`<th key=${name} scope="col">${name}</th>`)}</tr></thead>
      <tbody>
        ${events.map((event) => html`
          <tr key=${event.key + event[of.key]}><th scope="row">${at(event.timestamp)}</th>
            ${shown.map((name) => html`<td key=${name} dir="auto">${texts.short(String(event[name] ?? ""))}</td>`)}
            <td>${event.eventId}</td></tr>`)}
      </tbody>
    </table></div>
  `;
}

/** `of` is what GET /streams says of the stream; `path`: a window, and the key that is looked at, if any. */
export function Stream({ client, of, path }) {
  const [window, [key]] = windowOf(path);
  const [typed, setTyped] = useState(key ?? "");
  useEffect(() => setTyped(key ?? ""), [key]);
  const here = (wanted, other = window) => addressOf("streams", of.name, other, ...(wanted ? [wanted] : []));
  const chosen = { stream: of.name, [of.key]: key };
  const totals = useLoad(
    () => client.request("GET /streams/{stream}/window", { ...chosen, ...bounds(window), top: TOP }), [path.join("/")],
  );
  const last = useLoad(async () => (await client.request("GET /streams/{stream}/events", { ...chosen, limit: LAST })).items, [key]);
  const again = () => {
    totals.again();
    last.again();
  };
  const apply = (event) => {
    event.preventDefault();
    location.hash = here(typed.trim());
  };
  return html`
    <section aria-labelledby="stream-title">
      <h2 id="stream-title">${key === undefined ? of.name : texts.of(of.name, of.key, key)}</h2>
      <p class="note">${of.text} ${texts.facts(of.key, texts.kept(of.keepDays))}</p>
      <${Picker} window=${window} choose=${(other) => { location.hash = here(key, other); }} />
      <form class="filter" onSubmit=${apply} aria-label=${of.key}>
        <label><span>${of.key}</span>
          <input value=${typed} placeholder=${shared.all} maxlength="128" onInput=${(event) => setTyped(event.currentTarget.value)} /></label>
        <button>${shared.apply}</button>
        ${key !== undefined && html`<a href=${here()}>${texts.allOf(of.key)}</a>`}
      </form>
      <${Answer} of=${totals}>
        ${(found) => html`
          <${Totals} totals=${found} of=${of} chosen=${key} here=${here} />
          <${Known} answer=${found} asking=${totals.loading || last.loading} again=${again} />`}
      <//>
    </section>
    <section aria-labelledby="last-title">
      <h2 id="last-title">${key === undefined ? texts.last : texts.lastOf(key)}</h2>
      <${Loaded} of=${last} empty=${html`<${Empty} title=${texts.noLast}>${texts.noLastHelp}<//>`}>
        ${(events) => html`<${Last} events=${events} of=${of} />`}
      <//>
    </section>
  `;
}
