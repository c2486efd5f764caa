// Declared streams: which there are, and what each has in a window of time.
import { html } from "../htm.js";
import { count, texts as frame } from "../texts.js";
import { Empty, Loaded, useLoad } from "../ui.js";
import { Answer, Known, SCOPE, useAsking } from "../questions/parts.js";
import { Picker } from "../questions/picker.js";
import { addressOf, bounds, windowOf } from "../questions/window.js";
import { Stream } from "./stream.js";
import { texts } from "./texts.js";

/** The answer that knows least: what it may miss, an answer about all of them may. */
const oldest = (answers) => answers.reduce((a, b) => (b.missing.storedAfter < a.missing.storedAfter ? b : a));

/** All streams, with what a window has of each. */
function All({ client, streams, window }) {
  const found = useLoad(() => {
    const query = { ...bounds(window), top: 1 };
    return Promise.all(streams.map(({ name }) => client.request("GET /streams/{stream}/window", { stream: name, ...query })));
  }, [JSON.stringify(window)]);
  return html`
    <section aria-labelledby="streams-title">
      <h2 id="streams-title">${texts.streams}</h2>
      <${Picker} window=${window} choose=${(other) => { location.hash = addressOf("streams", "", other); }} />
      <${Answer} of=${found}>
        ${(totals) => html`
          <div class="scroll" tabindex="0" role="region" aria-label=${texts.each}><table class="streams">
            <caption>${texts.each}</caption>
            <thead><tr>${["name", "events", "sums", "key", "kept", "text"].map((name) => html`
              <th key=${name} scope="col" class=${name === "events" ? "number" : ""}>${texts.columns[name]}</th>`)}</tr></thead>
            <tbody>
              ${streams.map(({ name, text, key, keepDays }, i) => html`
                <tr key=${name}>
                  <th scope="row"><a href=${addressOf("streams", name, window)}>${name}</a></th>
                  <td class="number">${count(totals[i].events)}</td><td>${texts.sums(totals[i].sums)}</td>
                  <td>${key}</td><td>${texts.kept(keepDays)}</td><td>${text}</td>
                </tr>`)}
            </tbody>
          </table></div>
          <${Known} answer=${oldest(totals)} asking=${found.loading} again=${found.again} />`}
      <//>
    </section>
  `;
}

function Streams({ client, streams, name, path }) {
  const [window] = windowOf(path);
  const chosen = streams.find((each) => each.name === name);
  const link = (each, title) => html`
    <a key=${each} href=${addressOf("streams", each, window)} aria-current=${each === name ? "page" : undefined}>${title}</a>
  `;
  return html`
    <nav class="tabs" aria-label=${texts.streams}>${link("", texts.all)}${streams.map((each) => link(each.name, each.name))}</nav>
    ${chosen !== undefined && html`<${Stream} key=${name} client=${client} of=${chosen} path=${path} />`}
    ${chosen === undefined && (name === ""
      ? html`<${All} client=${client} streams=${streams} window=${window} />`
      : html`<section><${Empty} title=${texts.unknown(name)} /></section>`)}
  `;
}

/** `path`: the name of a stream or "", a window, and a key of the stream, such as ["doors", "last", "300", "front"]. */
export default function View({ session, path: [name = "", ...path] }) {
  const client = useAsking(session);
  const found = useLoad(async () => (await client.request("GET /streams", {})).items);
  if (found.error?.code === "forbidden") {
    return html`<section><${Empty} title=${frame.needsScope([SCOPE])} /></section>`;
  }
  return html`
    <${Loaded} of=${found} empty=${html`<section><${Empty} title=${texts.none}>${texts.noneHelp}<//></section>`}>
      ${(streams) => html`<${Streams} client=${client} streams=${streams} name=${name} path=${path} />`}
    <//>
  `;
}
