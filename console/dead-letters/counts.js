// The letters by day and reason: a table whose numbers filter the list.
import { html } from "../htm.js";
import { count } from "../texts.js";
import { texts } from "./texts.js";

/** `days` is that of GET /dead-letters; `choose` gets a filter. */
export function Counts({ days, reasons, filter, choose }) {
  const names = Object.keys(reasons);
  const cell = (wanted, number, label) => {
    const isChosen = filter.day === wanted.day && filter.reason === wanted.reason;
    return html`
      <button type="button" class="count" aria-pressed=${String(isChosen)} aria-label=${label}
        onClick=${() => choose({ ...filter, day: undefined, reason: undefined, ...(isChosen ? {} : wanted) })}>${count(number)}</button>
    `;
  };
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label=${texts.counts}><table class="counts">
      <caption>${texts.counts}</caption>
      <thead><tr><th scope="col">${texts.columns.day}</th>
        ${names.map((reason) => html`<th key=${reason} scope="col" class="number">${reason}</th>`)}
        <th scope="col" class="number">${texts.sum}</th></tr></thead>
      <tbody>
        ${Object.entries(days).reverse().map(([day, of]) => html`
          <tr key=${day}><th scope="row">${day}</th>
            ${names.map((reason) => html`
              <td key=${reason} class="number">${of[reason] === undefined ? "" : cell({ day, reason }, of[reason], texts.cell(of[reason], reason, day))}</td>`)}
            <td class="number">${cell({ day }, Object.values(of).reduce((a, b) => a + b), texts.cell(Object.values(of).reduce((a, b) => a + b), undefined, day))}</td></tr>
        `)}
        ${Object.keys(days).length > 1 && html`
          <tr><th scope="row">${texts.sum}</th>
            ${names.map((reason) => html`<td key=${reason} class="number">${cell({ reason }, reasons[reason], texts.cell(reasons[reason], reason))}</td>`)}
            <td></td></tr>
        `}
      </tbody>
    </table></div>
    <p class="note">${texts.countsNote}</p>
  `;
}
