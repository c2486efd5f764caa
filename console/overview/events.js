// The newest events. Each opens its way through the functions, as `make trace` prints it.
import { html, useState } from "../htm.js";
import { local } from "../session.js";
import { clock, count, duration, localTexts, texts } from "../texts.js";
import { Empty, Loaded, State, useLoad } from "../ui.js";

function Timeline({ id, round }) {
  // Asked again every 3 seconds until the event is half a minute old: its steps come one by one.
  const found = useLoad(() => local(`/console/trace?id=${encodeURIComponent(id)}`), [id, round]);
  return html`
    <${Loaded} of=${found} isEmpty=${({ steps }) => steps.length === 0} empty=${html`<p class="note">${localTexts.noSteps}</p>`}>
      ${({ steps }) => html`
        <ol class="timeline">
          ${steps.map(
            (step) => html`
              <li><time>+${duration(step.at - steps[0].at)}</time> <b>${step.text}</b> <small>${step.function}</small></li>
            `,
          )}
        </ol>
      `}
    <//>
  `;
}

function Event({ event, now, isOpen, toggle }) {
  const round = Math.min(10, Math.floor((now - event.at) / 3_000));
  return html`
    <li>
      <button type="button" class="event" aria-expanded=${isOpen} onClick=${toggle}>
        <time>${clock(event.at)}</time>
        <span>${event.stream}${event.count > 1 ? ` ×${count(event.count)}` : ""}</span>
        <code>${event.id}</code>
        <${State} tone=${event.lane === "main" ? "good" : "busy"}>${event.lane}<//>
      </button>
      ${isOpen && html`<${Timeline} id=${event.id} round=${round} />`}
    </li>
  `;
}

export function Events({ seen }) {
  const [opened, setOpened] = useState();
  const newest = seen.counts.events;
  // The opened event stays, however many newer ones come.
  const events = opened === undefined || newest.some(({ id }) => id === opened.id) ? newest : [opened, ...newest];
  return html`
    <section class="events" aria-labelledby="events-title">
      <h2 id="events-title">${texts.events}</h2>
      ${events.length === 0
        ? html`<${Empty} title=${localTexts.noEvents}>${localTexts.noEventsHelp}<//>`
        : html`
            <ol tabindex="0" aria-labelledby="events-title">
              ${events.map(
                (event) => html`
                  <${Event} key=${event.id} event=${event} now=${seen.now} isOpen=${event.id === opened?.id}
                    toggle=${() => setOpened(event.id === opened?.id ? undefined : event)} />
                `,
              )}
            </ol>
            <p class="note">${localTexts.eventsNote}</p>
          `}
    </section>
  `;
}
