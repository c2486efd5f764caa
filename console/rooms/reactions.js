// The reactions to a message: how many users chose each value, one's own, who reacted, and another value to choose.
import { html, useEffect, useLayoutEffect, useRef } from "../htm.js";
import { count } from "../texts.js";
import { Loading, useFocus } from "../ui.js";
import { texts } from "./texts.js";

const CHOICES = ["👍", "❤️", "😂", "🎉", "😮", "😢"];
const LONGEST = 32; // characters of a value
const NAMED = 20; // users in the title of a value
const GLANCE = 500; // milliseconds on the screen, after which one's own reaction is looked for

/** The values in an order that stays when others react. */
const chosen = ({ reactions = {} }) => Object.entries(reactions).sort(([one], [other]) => (one < other ? -1 : 1));

/** The names of those who chose a value. */
const namesOf = (row, room, value) =>
  (row.reactors ?? []).filter((each) => each.value === value).map(({ userId }) => room.history.nameOf(userId));

/** Below a message: a click reacts too, or takes one's own reaction back. */
function Values({ row, room, values, children }) {
  const place = useRef(null);
  const hadFocus = place.current?.contains(document.activeElement);
  useLayoutEffect(() => {
    // The last one with a value is taken back: the focus goes to the button beside it.
    if (hadFocus && document.activeElement === document.body) {
      (place.current?.querySelector("button") ?? document.querySelector(".log")).focus();
    }
  });
  const { acts } = room;
  const { item, reaction } = row;
  useEffect(() => {
    const timer = row.reactors === undefined && setTimeout(() => acts.glance(row), GLANCE); // counts do not say who
    return () => clearTimeout(timer);
  }, []);
  const look = () => acts.look(row).catch(() => {}); // a click tells
  const own = acts.reactionTo(row);
  return html`
    <div class="reactions" ref=${place} onPointerEnter=${look} onFocusIn=${look}>
      ${values.map(([value, n]) => html`
        <button type="button" key=${value} aria-pressed=${value === own} aria-label=${texts.reacted(value, n)}
          title=${namesOf(row, room, value).slice(0, NAMED).join(", ")} disabled=${!room.canWrite && value !== own}
          onClick=${() => acts.react(row, value)}><bdi>${value}</bdi> ${count(n)}</button>
      `)}
      ${item.moreReactions && html`<span class="note">${texts.moreReactions}</span>`}
      ${reaction !== undefined && html`
        <span class=${`tick accepted ${reaction.lane}`} role="status">${texts.reactionAccepted(reaction)}</span>
      `}
      ${children}
    </div>
  `;
}

/** What is below a message, if anything is: the reactions to it, and `children`. */
export function Reactions({ row, room, children }) {
  const values = chosen(row.item);
  if (values.length > 0 || row.reaction !== undefined || children) {
    return html`<${Values} row=${row} room=${room} values=${values}>${children}<//>`;
  }
  return null;
}

/** Buttons for usual reactions. */
export function Choices({ row, room }) {
  const own = room.acts.reactionTo(row);
  useEffect(() => {
    room.acts.look(row).catch(() => {});
  }, []);
  return html`
    <span class="choices" role="group" aria-label=${texts.react}>
      ${CHOICES.map((value) => html`
        <button type="button" key=${value} aria-pressed=${value === own} aria-label=${texts.reactWith(value)}
          onClick=${() => room.acts.react(row, value)}>${value}</button>
      `)}
    </span>
  `;
}

/** Who reacted with what, and a field for any value. */
export function Reacted({ row, room, acting }) {
  const focus = useFocus();
  const { acts } = room;
  const { reactionsAt } = row.item;
  useEffect(() => {
    if (acting.error === undefined) {
      acts.look(row).catch((error) => acts.open(row, "reactions", { error }));
    }
  }, [reactionsAt]);
  const submit = (event) => {
    event.preventDefault();
    acts.react(row, new FormData(event.currentTarget).get("value").trim());
  };
  const values = [...new Set((row.reactors ?? []).map(({ value }) => value))].sort();
  return html`
    <ul class="versions" aria-label=${texts.whoReacted}>
      ${values.map((value) => html`<li key=${value}><bdi>${value}</bdi> ${namesOf(row, room, value).join(", ")}</li>`)}
    </ul>
    ${row.reactors === undefined && acting.error === undefined && html`<${Loading} />`}
    ${row.reactors?.length === 0 && html`<p class="note">${texts.noReactions}</p>`}
    <form class="acts" onSubmit=${submit}>
      ${room.canWrite && html`
        <input ref=${focus} name="value" required maxlength=${LONGEST} autocomplete="off" dir="auto" size="12"
          aria-label=${texts.otherReaction} placeholder=${texts.otherReaction} />
        <button class="primary">${texts.react}</button>
      `}
      <button type="button" class="quiet" ref=${room.canWrite ? undefined : focus} onClick=${() => acts.open()}>${texts.close}</button>
    </form>
  `;
}
