// What operators did, as the functions' logs have it.
import { html } from "../htm.js";
import { local } from "../session.js";
import { at } from "../texts.js";
import { Empty, Failure, Loading, useLoad } from "../ui.js";
import { localTexts, texts } from "./texts.js";

const pairs = (fields) =>
  Object.entries(fields).filter(([, value]) => value !== null && value !== "").map(([name, value]) => `${name} ${value}`).join(", ");

function Actions({ items }) {
  if (items.length === 0) {
    return html`<${Empty} title=${localTexts.none} />`;
  }
  return html`
    <div class="scroll high" tabindex="0" role="region" aria-label=${texts.audit}><table>
      <caption>${localTexts.caption(items.length)}</caption>
      <thead><tr>${Object.values(localTexts.columns).map((name) => html`<th key=${name} scope="col">${name}</th>`)}</tr></thead>
      <tbody>
        ${items.map(({ time, operator, message, filter, ...result }, i) => html`
          <tr key=${time + i}><th scope="row">${at(time)}</th><td>${operator}</td><td>${message}</td>
            <td>${pairs(filter ?? {}) || (filter === undefined ? "" : localTexts.all)}</td><td>${pairs(result)}</td></tr>`)}
      </tbody>
    </table></div>
  `;
}

/** `turn` changes when something was done. Only a local stage can be asked for it: on AWS, CloudWatch has the logs. */
export function Audit({ session, turn }) {
  const found = useLoad(async () => (session.isLocal ? local("/console/audit") : undefined), [turn]);
  return html`
    <section aria-labelledby="audit-title">
      <h2 id="audit-title">${texts.audit}</h2>
      <p class="note">${session.isLocal ? localTexts.audit : texts.auditAws}</p>
      ${!session.isLocal && html`<pre tabindex="0" aria-label=${texts.audit}>${texts.auditQuery}</pre>`}
      ${session.isLocal && (found.error !== undefined
        ? html`<${Failure} error=${found.error} again=${found.again} />`
        : found.value === undefined ? html`<${Loading} />` : html`<${Actions} items=${found.value.items} />`)}
    </section>
  `;
}
