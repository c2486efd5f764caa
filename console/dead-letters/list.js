// The list of letters, with its filter.
import { html } from "../htm.js";
import { at, count } from "../texts.js";
import { Empty } from "../ui.js";
import { isEmpty } from "./letters.js";
import { texts } from "./texts.js";

const STREAMS = ["chat", "ski", "ads", "probe", "unknown"];

/** `declared` has the names of more streams, perhaps twice. */
export function Filter({ filter, declared, reasons, days, choose }) {
  const select = (name, label, values) => html`
    <label><span>${label}</span>
      <select value=${filter[name] ?? ""} onChange=${(event) => choose({ ...filter, [name]: event.currentTarget.value || undefined })}>
        <option value="">${texts.any}</option>
        ${[...new Set([...values, ...(filter[name] ? [filter[name]] : [])])].map((each) => html`<option key=${each} value=${each}>${each}</option>`)}
      </select></label>
  `;
  return html`
    <form class="filter" aria-label=${texts.filter} onSubmit=${(event) => event.preventDefault()}>
      ${select("stream", texts.stream, [...STREAMS, ...declared])}
      ${select("reason", texts.reason, Object.keys(reasons))}
      ${select("day", texts.day, Object.keys(days).reverse())}
      ${!isEmpty(filter) && html`<button type="button" onClick=${() => choose({})}>${texts.clear}</button>`}
    </form>
  `;
}

/** `found` is an answer of GET /dead-letters, `open` the id of the letter that is shown. */
export function List({ found, open }) {
  if (found.items.length === 0) {
    return html`<${Empty} title=${texts.noneMatches} />`;
  }
  const caption = texts.listed(found.items.length, found.count);
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label=${caption}><table class="letters">
      <caption>${caption} ${!found.complete && html`<span class="note">${texts.notComplete(found.scanned)}</span>`}</caption>
      <thead><tr>${["firstFailed", "reason", "stream", "events", "tries", "letter", "message"].map((name) => html`
        <th key=${name} scope="col" class=${name === "events" || name === "tries" ? "number" : ""}>${texts.columns[name]}</th>`)}</tr></thead>
      <tbody>
        ${[...found.items].sort((a, b) => (a.firstFailedAt < b.firstFailedAt ? 1 : -1)).map((letter) => html`
          <tr key=${letter.id} class=${letter.id === open ? "open" : ""}>
            <th scope="row"><a href=${`#/dead-letters/${encodeURIComponent(letter.id)}`} aria-current=${letter.id === open ? "true" : undefined}>
              ${at(letter.firstFailedAt)}</a></th>
            <td><span class="reason">${letter.reason}</span></td>
            <td>${letter.stream}</td>
            <td class="number">${count(letter.events)}</td>
            <td class="number">${count(letter.attempts)}</td>
            <td><code>${letter.id.slice(0, 8)}</code></td>
            <td class="why" dir="auto">${letter.message}</td>
          </tr>
        `)}
      </tbody>
    </table></div>
  `;
}
