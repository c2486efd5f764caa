// The picker of a window: one that ends now, or one between two times of the reader's zone.
import { html, useEffect, useState } from "../htm.js";
import { texts } from "./texts.js";
import { LASTS, bounds, toInput, zone } from "./window.js";

/** `choose` gets the chosen window. */
export function Picker({ window, choose }) {
  const shown = bounds(window);
  const [from, setFrom] = useState(toInput(Date.parse(shown.from)));
  const [to, setTo] = useState(toInput(Date.parse(shown.to)));
  const [wrong, setWrong] = useState("");
  useEffect(() => {
    setFrom(toInput(Date.parse(shown.from)));
    setTo(toInput(Date.parse(shown.to)));
  }, [window.last, window.from, window.to]);
  const apply = (event) => {
    event.preventDefault();
    const chosen = { from: Date.parse(from), to: Date.parse(to) };
    if (!(chosen.from < chosen.to)) {
      setWrong(texts.wrongWindow);
      return;
    }
    setWrong("");
    choose(chosen);
  };
  return html`
    <div class="picker">
      <div class="choices" role="group" aria-label=${texts.window}>
        ${LASTS.map((last) => html`
          <button key=${last} type="button" aria-pressed=${String(window.last === last)} onClick=${() => choose({ last })}>
            ${texts.lasts[last]}
          </button>
        `)}
      </div>
      <form onSubmit=${apply} aria-label=${texts.between}>
        <label><span>${texts.from}</span>
          <input type="datetime-local" required value=${from} onInput=${(event) => setFrom(event.currentTarget.value)} />
        </label>
        <label><span>${texts.until}</span>
          <input type="datetime-local" required value=${to} onInput=${(event) => setTo(event.currentTarget.value)} />
        </label>
        <button>${texts.show}</button>
      </form>
      <p class="note">${texts.zone(zone)}</p>
      ${wrong !== "" && html`<p class="wrong" role="alert">${wrong}</p>`}
      <details class="note"><summary>${texts.slots}</summary><p>${texts.slotsText}</p><p>${texts.tailText}</p></details>
    </div>
  `;
}
