// Personal data: users export and erase themselves, and operators any user.
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

/** How far a task is; `times` are the names of its times. */
const Facts = ({ of, times, children }) => html`
  <p role="status"><${State} tone=${of.state === "done" ? "good" : "busy"}>${texts.state[of.state]}<//></p>
  <dl>
    ${times.map((name) => of[name] && html`<dt>${texts.times[name]}</dt><dd><time dateTime=${of[name]}>${at(of[name])}</time></dd>`)}
    <dt>${texts.counts}</dt>
    <dd>${Object.entries(of.counts).map(([kind, n]) => `${texts.kinds[kind] ?? kind}: ${count(n)}`).join(", ") || texts.nothing}</dd>
    ${children}
  </dl>
`;

/** The export of a user: `ask()` reads how far it is, and `begin()` begins it. */
function Export({ ask, begin }) {
  const found = useTask(ask);
  const [busy, error, run] = useRun();
  const start = () => run(async () => {
    await begin();
    found.again();
  });
  return html`
    <fieldset class="move">
      <legend>${texts.export}</legend>
      <p class="note">${texts.exportHelp}</p>
      <${Loaded} of=${found} isEmpty=${(value) => value === null} empty=${html`<p>${texts.noExport}</p>`}>
        ${(value) => html`
          <${Facts} of=${value} times=${["asOf", "doneAt", "filesUntil"]}>
            ${value.files.length > 0 && html`
              <dt>${texts.files}</dt>
              <dd>${value.files.map(({ link, lines, bytes }) => html`<p><a href=${link}>${texts.file(lines, bytes)}</a></p>`)}</dd>
            `}
          <//>
        `}
      <//>
      <div class="row">
        ${found.value?.state !== "running" && html`<button type="button" disabled=${busy} onClick=${start}>${texts.exportNow}</button>`}
        ${found.value?.files.length > 0 && html`<button type="button" disabled=${found.loading} onClick=${found.again}>${texts.newLinks}</button>`}
      </div>
      ${error !== undefined && html`<${Failure} error=${error} />`}
    </fieldset>
  `;
}

/** Show what a form names, at an address that begins with `place`. */
const goTo = (event, place, field) => {
  event.preventDefault();
  location.hash = `${place}${encodeURIComponent(new FormData(event.currentTarget).get(field).trim())}`;
};

/** The erasure of `user`, or of a room: `ask()` reads how far it is, and `begin()` begins it. */
function Erasure({ user, ask, begin, of = texts }) {
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
      <legend>${of.erasure}</legend>
      <p class="note">${of.help}</p>
      <${Loaded} of=${found} isEmpty=${(value) => value === null} empty=${html`<p>${of.never}</p>`}>
        ${(value) => html`<${Facts} of=${value} times=${["erasedAt", "doneAt", "freeFrom", "backupsUntil"]} />`}
      <//>
      ${found.value !== undefined && found.value?.state !== "running" && html`
        <form class="row" onSubmit=${erase}>
          <label><span>${texts.type(user)}</span>
            <input required autocomplete="off" value=${typed} onInput=${(event) => setTyped(event.currentTarget.value)} /></label>
          <button class="danger" disabled=${busy || typed !== user}>${of.erase}</button>
        </form>
      `}
      ${error !== undefined && html`<${Failure} error=${error} />`}
    </fieldset>
  `;
}

const Rooms = ({ client, roomId }) => html`
  <section class="data" aria-labelledby="rooms-title">
    <h2 id="rooms-title">${texts.rooms}</h2>
    <form class="filter" onSubmit=${(event) => goTo(event, "#/people/room/", "room")}>
      <label><span>${texts.roomId}</span><input name="room" required maxlength="128" defaultValue=${roomId} /></label>
      <button>${texts.show}</button>
    </form>
    ${roomId && html`
      <${Erasure} user=${roomId} of=${texts.room} ask=${() => client.request("GET /rooms/{roomId}/deletion", { roomId })}
        begin=${() => client.request("POST /rooms/{roomId}/deletion", { roomId })} />
    `}
  </section>
`;

/** Export and erasure of `user` by the operations below `path`; `given` goes into requests that begin one. */
function Data({ client, user, path, given = {}, confirm }) {
  const { userId } = given;
  const ask = (what) => () => client.request(`GET ${path}${what}`, { userId });
  const begin = (what, more) => () => client.request(`POST ${path}${what}`, { ...given, ...more });
  return html`
    <${Export} ask=${ask("export")} begin=${begin("export")} />
    <${Erasure} user=${user} ask=${ask("erasure")} begin=${begin("erasure", confirm)} />
  `;
}

const Own = ({ client, user }) => html`
  <section class="data" aria-labelledby="own-title">
    <h2 id="own-title">${texts.own(user)}</h2>
    <${Data} client=${client} user=${user} path="/" confirm=${{ confirm: user }} />
  </section>
`;

/** A number as one; any other text as it is, so that it is refused and not left out. */
const numberOf = (text) => (/^[0-9]+$/.test(text) ? Number(text) : text || undefined);

function Others({ client, userId }) {
  const [skier, setSkier] = useState("");
  return html`
    <section class="data" aria-labelledby="others-title">
      <h2 id="others-title">${texts.others}</h2>
      <p class="note">${texts.othersHelp}</p>
      <form class="filter" onSubmit=${(event) => goTo(event, "#/people/", "user")}>
        <label><span>${texts.userId}</span><input name="user" required maxlength="128" defaultValue=${userId} /></label>
        <button>${texts.show}</button>
      </form>
      ${userId && html`
        <label><span>${texts.skier}</span><input inputmode="numeric" pattern="[0-9]*" value=${skier} onInput=${(event) => setSkier(event.currentTarget.value)} /></label>
        <${Data} client=${client} user=${userId} path="/users/{userId}/"
          given=${{ userId, skierID: numberOf(skier) }} />
      `}
    </section>
  `;
}

/** `path`: the user or the room that an operator looks at, such as ["dora"] or ["room", "kitchen"]. */
export default function People({ session, path: [first, roomId] }) {
  const userId = roomId ? undefined : first;
  return html`
    ${session.can("chat:write") && html`<${Own} key=${session.user} client=${session.client("chat:read", "chat:write")} user=${session.user} />`}
    ${session.can("ops") && html`<${Others} key=${userId} client=${session.client("ops")} userId=${userId} />`}
    ${session.can("ops") && html`<${Rooms} key=${roomId} client=${session.client("ops")} roomId=${roomId} />`}
  `;
}
