// The first screen's numbers: the balance, breakers and probes.
import { html } from "../htm.js";
import { count, localTexts, read, texts } from "../texts.js";
import { State } from "../ui.js";

/** A tone, a verdict, and why. What is not read now is no verdict. */
function verdict({ lost, isUnread }, isOld) {
  if (isOld || isUnread) {
    return ["", localTexts.unread, isOld ? "" : localTexts.unreadWhy];
  }
  return lost > 0
    ? ["bad", `✕ ${localTexts.lost(lost)}`, localTexts.lostWhy]
    : ["good", `✓ ${localTexts.kept}`, localTexts.keptWhy];
}

/** accepted = stored + lanes, with a sentence that says whether something is lost. */
export function BalanceLine({ balance, held, isOld }) {
  const { accepted, parts, redelivered } = balance;
  const [tone, found, why] = verdict(balance, isOld);
  const shown = Object.entries(parts).filter(([name, value]) => name !== "main" || value !== 0);
  const more = Object.entries(held).map(([name, number]) => [name, number - parts[name]]).filter(([, number]) => number > 0);
  return html`
    <section class="balance" aria-labelledby="balance-title">
      <h2 id="balance-title">${localTexts.balance}</h2>
      <div class="equation">
        <p class="term"><b>${count(accepted)}</b> <span>${localTexts.accepted}</span></p>
        ${shown.map(
          ([name, value], index) => html`
            <div class="part"><i>${index === 0 ? "=" : "+"}</i>
              <p class=${`term ${name} ${value === 0 ? "zero" : ""}`}>
                <b>${read(value)}</b> <span>${localTexts.parts[name]}</span>
              </p>
            </div>
          `,
        )}
        <p class=${`verdict ${tone}`} role="status"><b>${found}</b> <span>${why}</span></p>
      </div>
      <p class="note">${localTexts.sample}${redelivered > 0 && localTexts.redelivered(redelivered)}
        ${more.map(([name, number]) => localTexts.more(name, number))}</p>
    </section>
  `;
}

const TONES = { ok: "good", empty: "good", away: "bad", open: "bad", missing: "bad" };
/** A state in the tone that it has. */
export const Word = ({ state }) => html`<${State} tone=${TONES[state] ?? "busy"}>${texts.state[state] ?? state}<//>`;

/** The lane of new events, circuit breakers, and the newest probes. */
export function Checks({ status }) {
  const { breakers, probes, accepting } = status;
  const notClosed = (breakers.environments ?? []).filter(({ state }) => state !== "closed").length;
  const ages = Object.values(probes.queues ?? {}).flatMap(({ ageSeconds }) => ageSeconds ?? []);
  return html`
    <section class="checks" aria-labelledby="checks-title">
      <h2 id="checks-title">${texts.checks}</h2>
      <dl>
        <dt>${texts.accepting}</dt>
        <dd><${State} tone=${accepting === "main" ? "good" : "busy"}>${texts.acceptingLane[accepting]}<//></dd>
        <dt>${texts.breakers}</dt>
        <dd><${Word} state=${breakers.state} />
          ${notClosed > 0 && " " + texts.notClosed(notClosed)}</dd>
        <dt>${texts.probes}</dt>
        <dd><${Word} state=${probes.state} /> ${ages.length > 0 && " " + texts.probesAge(Math.max(...ages))}</dd>
      </dl>
    </section>
  `;
}
