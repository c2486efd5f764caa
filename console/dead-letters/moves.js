// Moves letters back, or deletes them: both count first.
import { html, useEffect, useRef, useState } from "../htm.js";
import { count } from "../texts.js";
import { Failure, useRun } from "../ui.js";
import { texts } from "./texts.js";
import { watch } from "./watch.js";

const RATE = 100;
const REFUSED = "invalid_request";

const Found = ({ counted }) => html`
  <p>${texts.counted(counted.count)} ${Object.entries(counted.reasons).map(([reason, n]) => texts.ofReason(n, reason)).join(", ")}
    ${!counted.complete && html` <span class="note">${texts.notComplete(counted.scanned)}</span>`}</p>
`;

/** `what` says in words which letters `filter` selects; `changed` is called when letters were moved. */
export function Redrive({ letters, filter, what, changed }) {
  const [counted, setCounted] = useState();
  const [rate, setRate] = useState(RATE);
  const [state, setState] = useState(); // the last answer of a redrive
  const [outcome, setOutcome] = useState();
  const [isStopping, setStopping] = useState(false);
  const [busy, error, run] = useRun();
  const isWanted = useRef(true);
  useEffect(() => () => { isWanted.current = false; }, []);
  const dryRun = () => run(async () => {
    setState(undefined);
    setOutcome(undefined);
    setCounted(undefined);
    setCounted(await letters.dryRun("redrive", filter));
  });
  const go = (continuation) => run(async () => {
    isWanted.current = true;
    setStopping(false);
    let now = { continuation };
    try {
      do {
        now = await letters.redrive(filter, Number(rate), now.continuation);
        setState(now);
      } while (!now.done && isWanted.current);
    } catch (failed) {
      // Without an answer, the slice may have moved letters: what was counted is old.
      setCounted(failed.code === REFUSED ? counted : undefined);
      throw failed;
    } finally {
      changed();
    }
    if (now.done && now.moved > 0) {
      await watch(letters, now, () => isWanted.current, setOutcome);
      changed();
    }
  });
  const stop = () => {
    isWanted.current = false;
    setStopping(true);
  };
  const total = counted?.complete ? counted.count : undefined;
  const isMoving = busy && counted !== undefined && outcome === undefined && !state?.done;
  return html`
    <fieldset class="move">
      <legend>${texts.redrive}</legend>
      <p class="note">${texts.redriveNote(what)}</p>
      <div class="row">
        <button type="button" disabled=${busy} onClick=${dryRun}>${texts.dryRun}</button>
        ${counted !== undefined && counted.count > 0 && state === undefined && !busy && html`
          <label class="rate-of"><span>${texts.rate}</span><input type="number" min="1" max="500" value=${rate}
            onInput=${(event) => setRate(event.currentTarget.value)} /></label>
          <button type="button" class="strong" onClick=${() => go()}>${texts.redriveNow(counted)}</button>
        `}
        ${isMoving && html`<button type="button" disabled=${isStopping} onClick=${stop}>${texts.stop}</button>`}
        ${!busy && state !== undefined && !state.done && html`<button type="button" onClick=${() => go(state.continuation)}>${texts.goOn}</button>`}
      </div>
      <div role="status">
        ${counted !== undefined && state === undefined && html`<${Found} counted=${counted} />`}
        ${isMoving && html`<progress max=${total} value=${total && state?.moved} aria-label=${texts.progress} />`}
        ${state !== undefined && html`<p>${texts.moved(state, total)}</p>`}
        ${isStopping && (busy || state?.done === false) && html`<p class="note">${busy ? texts.stopping : texts.stopped}</p>`}
        ${error !== undefined && error.code !== REFUSED && html`<p class="note">${texts.noAnswer}</p>`}
        ${outcome !== undefined && html`<p class=${outcome.isOver ? "" : "note"}>${texts.outcome(outcome)}</p>`}
      </div>
      ${error !== undefined && html`<${Failure} error=${error} />`}
    </fieldset>
  `;
}

export function Discard({ letters, filter, what, changed }) {
  const [counted, setCounted] = useState();
  const [typed, setTyped] = useState("");
  const [done, setDone] = useState();
  const [busy, error, run] = useRun();
  const dryRun = () => run(async () => {
    setDone(undefined);
    setTyped("");
    setCounted(undefined);
    setCounted(await letters.dryRun("discard", filter));
  });
  const discard = (event) => {
    event.preventDefault();
    // The server compares: the number can have changed since the dry run.
    run(async () => {
      setDone(await letters.discard(filter, Number(typed)));
      setCounted(undefined);
      changed();
    });
  };
  return html`
    <fieldset class="move">
      <legend>${texts.discard}</legend>
      <p class="note">${texts.discardNote(what)}</p>
      <div class="row"><button type="button" disabled=${busy} onClick=${dryRun}>${texts.dryRun}</button></div>
      <div role="status">
        ${counted !== undefined && html`<${Found} counted=${counted} />`}
        ${done !== undefined && html`<p>${texts.discarded(done.discarded, done.failed)}</p>`}
      </div>
      ${counted !== undefined && counted.count > 0 && html`
        <form class="row" onSubmit=${discard}>
          <label><span>${texts.typeCount}</span>
            <input required inputmode="numeric" pattern="[0-9]+" autocomplete="off" value=${typed} onInput=${(event) => setTyped(event.currentTarget.value)} /></label>
          <button class="danger" disabled=${busy}>${texts.discardNow}</button>
        </form>
      `}
      ${error !== undefined && html`<${Failure} error=${error} />`}
    </fieldset>
  `;
}
