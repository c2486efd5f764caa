// What the answers share: figures with words beside them, top lists, and a chart with its table.
import { Chart } from "../chart.js";
import { html, useMemo } from "../htm.js";
import { at, count } from "../texts.js";
import { Empty, Failure, Loading } from "../ui.js";
import { texts } from "./texts.js";
import { pointAt } from "./window.js";

export const SCOPE = "analytics:read";
/** Milliseconds of temporary errors, after which the reader decides. */
const PATIENCE = 5_000;

/** What asks as the person of the session. */
export const useAsking = (session) => useMemo(() => {
  const asking = session.client(SCOPE);
  return { request: (operation, parameters) => asking.request(operation, parameters, { retryTimeout: PATIENCE }) };
}, [session]);

/** A number, its name, and a sentence about it. */
export const Figure = ({ name, value, words }) => html`
  <div class="figure"><dt>${name}</dt><dd><b>${typeof value === "number" ? count(value) : value}</b>
    ${words !== undefined && html`<span class="note">${words}</span>`}</dd></div>
`;

/** Whether the numbers of an attribute, such as "userId", are exact: in words, by the answer's `accuracy`. */
export function uniqueWords(accuracy, attribute) {
  const errors = accuracy[attribute];
  return errors === undefined ? texts.exact : texts.within(errors.uniqueWithin);
}

const topWords = (accuracy, attribute) =>
  accuracy[attribute] === undefined ? texts.exact : texts.tooLow(accuracy[attribute].countsTooLowByAtMost);

/** What an answer counts, and what may be missing: the answer's `window`, `asOf` and `missing`. */
export const Known = ({ answer, asking, again }) => html`
  <p class="known">
    <span>${texts.counted(at(answer.window.from), at(answer.window.to))} ${texts.asOf(at(answer.asOf), at(answer.missing.storedAfter))}</span>
    <button type="button" disabled=${asking} onClick=${again}>${asking ? texts.asking : texts.askAgain}</button>
  </p>
`;

/** The largest counts of an attribute. `href` makes the address of an entry's name. */
export function TopTable({ caption, rows, name, of, accuracy, href }) {
  return html`
    <div class="scroll"><table class="top">
      <caption>${caption} <span class="note">${topWords(accuracy, name)}</span></caption>
      <thead><tr><th scope="col">${texts.columns[name] ?? name}</th><th scope="col" class="number">${texts.columns[of]}</th></tr></thead>
      <tbody>
        ${rows.map((row) => html`
          <tr key=${row[name]}>
            <th scope="row" dir="auto">${href === undefined ? row[name] : html`<a href=${href(row[name])}>${row[name]}</a>`}</th>
            <td class="number">${count(row[of])}</td>
          </tr>
        `)}
      </tbody>
    </table></div>
  `;
}

/** A series as bars, one chart for each of `names`, and as a table. */
export function Series({ answer, names }) {
  const { points, step } = answer;
  const times = points.map(({ from }) => Date.parse(from));
  return html`
    <div class="charts">
      ${names.map((name, i) => html`
        <${Chart} key=${name} title=${texts.series[name](texts.steps[step])} bars=${true} times=${times} at=${pointAt(step)}
          lines=${[{ name: texts.columns[name], values: points.map((point) => point[name]), tone: i === 0 ? "accent" : "good" }]} />
      `)}
    </div>
    <p class="note">${texts.stepNote[step]}</p>
    <details class="note"><summary>${texts.asTable}</summary>
      <div class="scroll high" tabindex="0" role="region" aria-label=${texts.asTable}><table>
        <caption>${texts.seriesCaption(texts.steps[step])}</caption>
        <thead><tr><th scope="col">${texts.columns.from}</th>
          ${names.map((name) => html`<th key=${name} scope="col" class="number">${texts.columns[name]}</th>`)}</tr></thead>
        <tbody>${points.map((point) => html`
          <tr key=${point.from}><th scope="row">${at(point.from)}</th>
            ${names.map((name) => html`<td key=${name} class="number">${count(point[name])}</td>`)}</tr>`)}</tbody>
      </table></div>
    </details>
  `;
}

/**
 * What useLoad returned: an error in words, or the answer. `absent` are the words where the API answers 404. While it is
 * asked again, the former answer stays.
 */
export function Answer({ of, absent, children }) {
  if (of.error?.code === "not_found" && absent !== undefined) {
    return html`<${Empty} title=${absent} />`;
  }
  if (of.error !== undefined) {
    const error = of.error.code === "unavailable" ? new Error(texts.unavailable(of.error.message)) : of.error;
    return html`<${Failure} error=${error} again=${of.again} />`;
  }
  return of.value === undefined
    ? html`<${Loading} what=${texts.counting} />`
    : html`<div class="answer" aria-busy=${String(of.loading)}>${children(of.value)}</div>`;
}
