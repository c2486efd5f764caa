// Clicks on ads in a window: the ads with the most, and one ad over time.
import { html, useEffect, useState } from "../htm.js";
import { at, count } from "../texts.js";
import { Empty, useLoad } from "../ui.js";
import { Answer, Figure, Known, Series, TopTable, uniqueWords } from "./parts.js";
import { Picker } from "./picker.js";
import { texts } from "./texts.js";
import { address, bounds, stepOf, windowOf } from "./window.js";

const TOP = 10;

const Types = ({ types, accuracy }) => html`
  <${TopTable} caption=${texts.types} name="adType" of="clicks" accuracy=${accuracy}
    rows=${Object.entries(types).map(([adType, clicks]) => ({ adType, clicks }))} />
`;

/** The figures of an ad, or of all ads. */
const Figures = ({ answer }) => html`
  <dl class="figures">
    <${Figure} name=${texts.figures.clicks} value=${answer.clicks} words=${texts.exact} />
    <${Figure} name=${texts.figures.users} value=${answer.uniqueUsers} words=${uniqueWords(answer.accuracy, "userId")} />
  </dl>
`;

/** The answer about one ad, which has a series, or about all of them, which has the ads with the most clicks. */
function Clicks({ answer, found, here }) {
  const { from, to } = answer.window;
  return html`
    ${answer.clicks === 0
      ? html`<${Empty} title=${texts.noClicks}>${texts.nothingBetween(at(from), at(to))}<//>`
      : html`<${Figures} answer=${answer} />`}
    <${Known} answer=${answer} asking=${found.loading} again=${found.again} />
    ${answer.clicks > 0 && html`
      ${answer.points !== undefined && html`<${Series} answer=${answer} names=${["clicks", "uniqueUsers"]} />`}
      <div class="tops">
        ${answer.topAds !== undefined && html`
          <${TopTable} caption=${texts.topAds(count(TOP))} rows=${answer.topAds} name="adId" of="clicks"
            accuracy=${answer.accuracy} href=${here} />
        `}
        <${Types} types=${answer.types} accuracy=${answer.accuracy} />
      </div>
    `}
  `;
}

export function Ad({ client, path }) {
  const [window, [adId]] = windowOf(path);
  const [typed, setTyped] = useState(adId ?? "");
  useEffect(() => setTyped(adId ?? ""), [adId]);
  const here = (ad, other = window) => address("ads", other, ...(ad ? [ad] : []));
  const found = useLoad(() => {
    const query = bounds(window);
    return adId === undefined
      ? client.request("GET /ads/top", { ...query, top: TOP })
      : client.request("GET /ads/{adId}/stats", { adId, ...query, step: stepOf(query) });
  }, [path.join("/")]);
  const apply = (event) => {
    event.preventDefault();
    location.hash = here(typed.trim());
  };
  return html`
    <section aria-labelledby="ads-title">
      <h2 id="ads-title">${adId === undefined ? texts.adsTitle : texts.adTitle(adId)}</h2>
      <${Picker} window=${window} choose=${(other) => { location.hash = here(adId, other); }} />
      <form class="filter" onSubmit=${apply} aria-label=${texts.ad}>
        <label><span>${texts.ad}</span>
          <input value=${typed} placeholder=${texts.all} maxlength="128" onInput=${(event) => setTyped(event.currentTarget.value)} /></label>
        <button>${texts.apply}</button>
        ${adId !== undefined && html`<a href=${here()}>${texts.allAds}</a>`}
      </form>
      <${Answer} of=${found} absent=${texts.unknownAd(adId)}>
        ${(answer) => html`<${Clicks} answer=${answer} found=${found} here=${here} />`}
      <//>
    </section>
  `;
}
