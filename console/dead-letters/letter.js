// One letter: why it is dead, its history, and its body, which is shown when it is asked for.
import { html, useEffect, useRef, useState } from "../htm.js";
import { at, count } from "../texts.js";
import { Empty, Failure, Loading, useLoad } from "../ui.js";
import { Discard, Redrive } from "./moves.js";
import { texts } from "./texts.js";

/** What happened to the letter, as rows of a time and a sentence. */
function history(letter) {
  const { acceptedAt, firstFailedAt, recordedReason, redrivenAt, lastSentAt, attempts, received, lane } = letter;
  return [
    acceptedAt !== undefined && [acceptedAt, texts.history.accepted(lane)],
    [firstFailedAt, texts.history.failed(recordedReason)],
    redrivenAt !== undefined && [redrivenAt, texts.history.redriven],
    [lastSentAt, texts.history.lastSent],
    [undefined, texts.history.tries(attempts, received)],
  ].filter(Boolean);
}

/** The text of a body: JSON is indented, everything else stays as it is. */
function readable(body) {
  try {
    return JSON.stringify(JSON.parse(body), undefined, 2);
  } catch {
    return body;
  }
}

function Body({ letters, id, characters, encoding, wasRead }) {
  const [isWanted, setWanted] = useState(false);
  const found = useLoad(async () => {
    const letter = isWanted ? await letters.open(id, true) : undefined;
    if (isWanted) {
      wasRead();
    }
    return letter;
  }, [isWanted]);
  if (!isWanted) {
    return html`
      <p class="note">${texts.bodyNote}</p>
      <button type="button" onClick=${() => setWanted(true)}>${texts.showBody(count(characters))}</button>
    `;
  }
  if (found.loading) {
    return html`<${Loading} />`;
  }
  if (found.error !== undefined) {
    return html`<${Failure} error=${found.error} again=${found.again} />`;
  }
  return found.value === undefined
    ? html`<${Empty} title=${texts.gone}>${texts.goneHelp}<//>`
    : html`
        ${encoding !== undefined && html`<p class="note">${texts.encoded(encoding)}</p>`}
        ${found.value.textsWithheld !== undefined && html`<p class="note">${texts.withheld(found.value.textsWithheld)}</p>`}
        <pre tabindex="0" aria-label=${texts.body} dir="auto">${readable(found.value.body)}</pre>
      `;
}

/** `id` is that of the address; `changed` is called after it was moved or deleted, and `acted` after its body was read. */
export function Letter({ letters, id, changed, acted }) {
  const title = useRef(null);
  const found = useLoad(() => letters.open(id, false), [id]);
  const letter = found.value;
  useEffect(() => title.current?.focus(), [letter?.id]);
  if (found.error !== undefined) {
    return html`<section class="letter"><${Failure} error=${found.error} again=${found.again} /></section>`;
  }
  if (found.loading) {
    return html`<section class="letter"><${Loading} /></section>`;
  }
  if (letter === undefined) {
    return html`<section class="letter"><${Empty} title=${texts.gone}>${texts.goneHelp}<//><a href="#/dead-letters">${texts.close}</a></section>`;
  }
  return html`
    <section class="letter" aria-labelledby="letter-title">
      <header class="row"><h2 id="letter-title" ref=${title} tabindex="-1">${texts.letter(letter.reason)}</h2>
        <a href="#/dead-letters">${texts.close}</a></header>
      <p class="verdict ${letter.reason === "storable" ? "good" : "bad"}"><b>${letter.message}</b>
        <span>${letter.reason === "storable" ? texts.storableHelp(letter.recordedReason) : texts.reasonHelp}</span></p>
      <dl>
        <dt>${texts.stream}</dt><dd>${letter.stream}</dd>
        <dt>${texts.events}</dt><dd>${count(letter.events)}</dd>
        <dt>${texts.letterId}</dt><dd><code>${letter.id}</code></dd>
        ${letter.correlationId !== undefined && html`<dt>${texts.correlationId}</dt><dd><code>${letter.correlationId}</code> <span class="note">${texts.trace}</span></dd>`}
      </dl>
      <h3>${texts.historyTitle}</h3>
      <ol class="history">
        ${history(letter).map(([time, text]) => html`<li key=${text}>${time !== undefined && html`<time datetime=${time}>${at(time)}</time>`} <span>${text}</span></li>`)}
      </ol>
      <h3>${texts.body}</h3>
      <${Body} key=${id} letters=${letters} id=${id} characters=${letter.bodyCharacters} encoding=${letter.encoding} wasRead=${acted} />
      <div class="moves">
        <${Redrive} letters=${letters} filter=${{ id }} what=${texts.thisLetter} changed=${changed} />
        <${Discard} letters=${letters} filter=${{ id }} what=${texts.thisLetter} changed=${changed} />
      </div>
    </section>
  `;
}
