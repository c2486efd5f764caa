// What the views share: loading, empty and failed states, states of services, and the way back after a failure.
import { html, useEffect, useRef, useState } from "./htm.js";
import { texts } from "./texts.js";

/** `<${Loading} />`, or with its own sentence: `<${Loading} what=${texts.…} />`. */
export const Loading = ({ what = texts.loading }) => html`<p class="loading" role="status">${what}</p>`;

/** Says that there is nothing, and what to do. */
export const Empty = ({ title, children }) => html`
  <div class="empty"><p><b>${title}</b></p>${children !== undefined && html`<p>${children}</p>`}</div>
`;

/** An error, and a button that tries again. */
export const Failure = ({ error, again }) => html`
  <div class="failure" role="alert">
    <p>${texts.failed(error.message, error.details?.[0]?.allowed)}</p>
    ${again !== undefined && html`<button type="button" onClick=${again}>${texts.again}</button>`}
  </div>
`;

/** A word with a dot in its tone: "good", "busy" or "bad". */
export const State = ({ tone, children }) => html`<span class=${`state ${tone}`}>${children}</span>`;

/** Runs one async function at a time: `[busy, error, run]`. */
export function useRun() {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState();
  const run = async (work) => {
    setBusy(true);
    setError(undefined);
    try {
      await work();
    } catch (failed) {
      setError(failed);
    }
    setBusy(false);
  };
  return [busy, error, run];
}

/**
 * Calls the async function `load` now, when one of `inputs` changes, and at `again()`. Returns `{ value, error, loading,
 * again }`. The former value stays while it loads; an answer that is overtaken by a newer one is dropped.
 */
export function useLoad(load, inputs = []) {
  const [result, setResult] = useState({ loading: true });
  const turn = useRef(0);
  const again = () => {
    const mine = ++turn.current;
    const finish = (found) => turn.current === mine && setResult({ loading: false, ...found });
    setResult(({ value }) => ({ value, loading: true }));
    load().then((value) => finish({ value }), (error) => finish({ error }));
  };
  useEffect(() => {
    again();
    return () => { turn.current += 1; };
  }, inputs);
  return { ...result, again };
}

/** Shows what `useLoad` returned: `<${Loaded} of=${found} empty=${…}>${(value) => html`…`}<//>`. `empty` is optional. */
export function Loaded({ of, isEmpty = (value) => value.length === 0, empty, children }) {
  if (of.error !== undefined) {
    return html`<${Failure} error=${of.error} again=${of.again} />`;
  }
  if (of.value === undefined) {
    return html`<${Loading} />`;
  }
  return empty !== undefined && isEmpty(of.value) ? empty : children(of.value);
}
