// The dead lane: what was given up, why, and the way back. Only for operators.
import { html, useMemo, useState } from "../htm.js";
import { Empty, Failure, Loading, useLoad } from "../ui.js";
import { Audit } from "./audit.js";
import { Counts } from "./counts.js";
import { isEmpty, Letters } from "./letters.js";
import { Letter } from "./letter.js";
import { Filter, List } from "./list.js";
import { Discard, Redrive } from "./moves.js";
import { texts } from "./texts.js";

const SCOPE = "ops";
const LISTING = "analytics:read";

const Needed = () => html`<section><${Empty} title=${texts.needsScope}>${texts.needsScopeHelp}<//></section>`;

/** The declared streams that an operator may list, if any. */
async function declaredIn(session) {
  if (!session.can(LISTING)) {
    return [];
  }
  const { items } = await session.client(LISTING).request("GET /streams", {}, { retryTimeout: 0 });
  return items.map(({ name }) => name);
}

function Lane({ letters, found, declared, filter, choose, open, changed }) {
  const { all, matching, held } = found.value;
  return html`
    <section aria-labelledby="dead-title">
      <header class="row"><h2 id="dead-title">${texts.title}</h2><span class="note">${texts.held(held, all)}</span>
        <button type="button" disabled=${found.loading} onClick=${found.again}>${found.loading ? texts.reading : texts.readAgain}</button></header>
      ${all.count === 0
        ? html`<${Empty} title=${texts.none}>${texts.noneHelp}<//>`
        : html`
            <${Counts} days=${all.days} reasons=${all.reasons} filter=${filter} choose=${choose} />
            <${Filter} filter=${filter} declared=${[...declared, ...all.items.map(({ stream }) => stream)]} reasons=${all.reasons} days=${all.days} choose=${choose} />
            <${List} found=${matching} open=${open} />
          `}
      ${(all.count > 0 || found.isKept) && html`
        <div class="moves" key=${JSON.stringify(filter)}>
          <${Redrive} letters=${letters} filter=${filter} what=${texts.selection(filter)} changed=${changed} />
          <${Discard} letters=${letters} filter=${filter} what=${texts.selection(filter)} changed=${changed} />
        </div>
      `}
    </section>
  `;
}

function DeadLane({ session, client, open }) {
  const letters = useMemo(() => new Letters(client), [client]);
  const [filter, setFilter] = useState({});
  const [turn, setTurn] = useState(0);
  const [acts, setActs] = useState(0);
  const { value: declared = [] } = useLoad(() => declaredIn(session));
  const found = useLoad(async () => {
    const held = await letters.waiting("dead");
    const all = await letters.list({});
    return { held, all, matching: isEmpty(filter) ? all : await letters.list(filter) };
  }, [filter, turn]);
  const changed = () => setTurn((n) => n + 1);
  if (found.error?.code === "forbidden") {
    return html`<${Needed} />`;
  }
  const body = found.error !== undefined
    ? html`<section><${Failure} error=${found.error} again=${found.again} /></section>`
    : found.value === undefined
      ? html`<section><${Loading} what=${texts.scanning} /></section>`
      : html`<${Lane} letters=${letters} found=${{ ...found, isKept: turn > 0 }} declared=${declared} filter=${filter} choose=${setFilter} open=${open} changed=${changed} />`;
  return html`
    <div class=${open === undefined ? "lane" : "lane with-letter"}>
      ${body}
      ${open !== undefined && html`<${Letter} key=${open} letters=${letters} id=${open} changed=${changed} acted=${() => setActs((n) => n + 1)} />`}
    </div>
    <${Audit} session=${session} turn=${turn + acts} />
  `;
}

/** `path`: the id of the letter that is shown, if any. */
export default function DeadLetters({ session, path: [open] }) {
  return html`<${DeadLane} session=${session} client=${session.client(SCOPE)} open=${open || undefined} />`;
}
