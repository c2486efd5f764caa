// Personal data: a user erases themselves, and an operator any user.
import { html, useEffect, useState } from "../htm.js";
import { at, count } from "../texts.js";
import { Failure, Loaded, State, useLoad, useRun } from "../ui.js";
import { texts } from "./texts.js";

const AGAIN = 3_000; // milliseconds after which a running task is looked at again

/** As useLoad: a task, or null if there was none. It is asked for again while it runs. */
function useTask(ask) {
  const found = useLoad(() => ask().catch((error) => {
    if (error.code === "not_found") {
      return null;
    }
    throw error;
  }));
  useEffect(() => {
    const timer = found.value?.state === "running" && setTimeout(found.again, AGAIN);
    return () => clearTimeout(timer);
  }, [found.value]);
  return found;
}

const Time = ({ name, value }) => value && html`<dt>${name}</dt><dd><time dateTime=${value}>${at(value)}</time></dd>`;

const Erased = ({ of: { state, erasedAt, doneAt, backupsUntil, counts } }) => html`
  <p role="status"><${State} tone=${doneAt ? "good" : "busy"}>${texts.state[state]}<//></p>
  <dl>
    <${Time} name=${texts.asked} value=${erasedAt} /><${Time} name=${texts.done} value=${doneAt} />
    <${Time} name=${texts.backups} value=${backupsUntil} />
    <dt>${texts.counts}</dt>
    <dd>${Object.entries(counts).map(([kind, n]) => `${texts.kinds[kind] ?? kind}: ${count(n)}`).join(", ") || texts.nothing}</dd>
  </dl>
`;

/** The erasure of `user`: `ask()` reads how far it is, and `begin()` begins it. */
function Erasure({ user, ask, begin }) {
  const found = useTask(ask);
  const [typed, setTyped] = useState("");
  const [busy, error, run] = useRun();
  const erase = (event) => {
    event.preventDefault();
    run(async () => {
      await begin();
      setTyped("");
      found.again();
    });
  };
  return html`
    <fieldset class="move">
      <legend>${texts.erasure}</legend>
      <p class="note">${texts.help}</p>
      <${Loaded} of=${found} isEmpty=${(value) => value === null} empty=${html`<p>${texts.never}</p>`}>
        ${(value) => html`<${Erased} of=${value} />`}
      <//>
      ${found.value !== undefined && found.value?.state !== "running" && html`
        <form class="row" onSubmit=${erase}>
          <label><span>${texts.type(user)}</span>
            <input required autocomplete="off" value=${typed} onInput=${(event) => setTyped(event.currentTarget.value)} /></label>
          <button class="danger" disabled=${busy || typed !== user}>${texts.erase}</button>
        </form>
      `}
      ${error !== undefined && html`<${Failure} error=${error} />`}
    </fieldset>
  `;
}

const Own = ({ client, user }) => html`
  <section aria-labelledby="own-title">
    <h2 id="own-title">${texts.own(user)}</h2>
    <${Erasure} user=${user} ask=${() => client.request("GET /erasure", {})} begin=${() => client.request("POST /erasure", { confirm: user })} />
  </section>
`;

/** A number as one; any other text as it is, so that it is refused and not left out. */
const numberOf = (text) => /^[0-9]+$/.test(text) ? Number(text) : text;

function Others({ client, userId }) {
  const [skier, setSkier] = useState("");
  useEffect(() => setSkier(""), [userId]); // it is of one user
  const ask = () => client.request("GET /users/{userId}/erasure", { userId });
  const begin = () => client.request("POST /users/{userId}/erasure", { userId, skierID: skier === "" ? undefined : numberOf(skier) });
  const show = (event) => {
    event.preventDefault();
    location.hash = `#/people/${encodeURIComponent(new FormData(event.currentTarget).get("user").trim())}`;
  };
  return html`
    <section aria-labelledby="others-title">
      <h2 id="others-title">${texts.others}</h2>
      <p class="note">${texts.othersHelp}</p>
      <form class="filter" onSubmit=${show}>
        <label><span>${texts.userId}</span><input name="user" required maxlength="128" defaultValue=${userId} /></label>
        <button>${texts.show}</button>
      </form>
      ${userId && html`
        <label><span>${texts.skier}</span><input inputmode="numeric" pattern="[0-9]*" value=${skier} onInput=${(event) => setSkier(event.currentTarget.value)} /></label>
        <${Erasure} key=${userId} user=${userId} ask=${ask} begin=${begin} />
      `}
    </section>
  `;
}

/** `path`: the user whom an operator looks at, such as ["dora"]. */
export default function People({ session, path: [userId] }) {
  return html`
    ${session.can("chat:write") && html`<${Own} client=${session.client("chat:read", "chat:write")} user=${session.user} />`}
    ${session.can("ops") && html`<${Others} client=${session.client("ops")} userId=${userId} />`}
  `;
}
