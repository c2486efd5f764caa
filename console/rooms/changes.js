// What one does with a message: react to it, answer it, edit it, delete it, and look at what others did with it.
import { html, useLayoutEffect, useRef } from "../htm.js";
import { Loading, useFocus } from "../ui.js";
import { clock, dayAndTime } from "./format.js";
import { Choices, Reacted } from "./reactions.js";
import { texts } from "./texts.js";

const LARGEST = 4_096; // bytes of a text
const MORE = "⋯"; // a value: see Kept

function Menu({ row, room }) {
  const { item } = row;
  const { acts } = room;
  const mayChange = room.mayChange(item);
  const place = useRef(null);
  useLayoutEffect(() => place.current.querySelector("button").focus(), []);
  const button = (text, act, kind) => html`<button type="button" class=${kind} onClick=${act}>${text}</button>`;
  return html`
    <div class="acts" ref=${place}>
      ${room.canWrite && html`<${Choices} row=${row} room=${room} />${button(texts.reply, () => acts.answer(row))}`}
      ${button(texts.replies, () => room.openThread(item.key))}
      ${button(texts.reactions, () => acts.open(row, "reactions"))}
      ${mayChange && item.userId === room.user && button(texts.edit, () => acts.open(row, "edit", { text: item.message }))}
      ${mayChange && button(texts.delete, () => acts.open(row, "delete"), "danger")}
      ${mayChange && item.editedAt && button(texts.versions, () => acts.versions(row))}
      ${button(texts.cancel, () => acts.open(), "quiet")}
    </div>
  `;
}

function Edit({ row, room, acting }) {
  const focus = useFocus();
  const save = (event) => {
    event.preventDefault();
    const text = acting.text.trim();
    const bytes = new TextEncoder().encode(text).length;
    if (bytes > LARGEST) {
      room.acts.open(row, "edit", { text, error: new Error(texts.tooLong(bytes, LARGEST)) });
    } else if (text === row.item.message) {
      room.acts.open();
    } else if (text !== "") {
      room.acts.changeText(row, text);
    }
  };
  const pressed = (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      save(event);
    }
  };
  return html`
    <form class="edit" onSubmit=${save}>
      <textarea ref=${focus} rows="3" dir="auto" aria-label=${texts.editText} defaultValue=${acting.text} onKeyDown=${pressed}
        onInput=${(event) => { acting.text = event.currentTarget.value; }}></textarea>
      <div class="acts">
        <button class="primary" disabled=${acting.isBusy}>${texts.save}</button>
        <button type="button" class="quiet" onClick=${() => room.acts.open()}>${texts.cancel}</button>
      </div>
    </form>
  `;
}

function Delete({ row, room, acting }) {
  const focus = useFocus();
  return html`
    <div class="acts">
      <p class="note">${texts.surely}</p>
      <button type="button" class="danger" ref=${focus} disabled=${acting.isBusy} onClick=${() => room.acts.changeText(row)}>${texts.delete}</button>
      <button type="button" onClick=${() => room.acts.open()}>${texts.keep}</button>
    </div>
  `;
}

/** The texts before the one that is shown. */
function Versions({ row, room, acting }) {
  const focus = useFocus();
  return html`
    <ul class="versions" aria-label=${texts.versions}>
      ${acting.items?.slice(0, -1).map(({ message, timestamp }) => html`
        <li><time dateTime=${timestamp}>${dayAndTime(timestamp)}</time> <span class="earlier" dir="auto">${message}</span></li>
      `)}
    </ul>
    ${acting.items === undefined && acting.error === undefined && html`<${Loading} />`}
    <div class="acts"><button type="button" ref=${focus} onClick=${() => room.acts.open()}>${texts.close}</button></div>
  `;
}

const PARTS = { menu: Menu, edit: Edit, delete: Delete, versions: Versions, reactions: Reacted };

/** The button that opens the actions of a message, and the opened one: `acting` of the room, if it is this message. */
export function Changes({ row, room, acting }) {
  const place = useRef(null);
  const wasOpen = useRef(false);
  const isOpen = acting !== undefined;
  useLayoutEffect(() => {
    // Where the focus was goes away: it returns to the button, or to the list of messages.
    if (wasOpen.current && !isOpen) {
      (place.current?.querySelector(".more") ?? document.querySelector(".log"))?.focus();
    }
    wasOpen.current = isOpen;
  }, [isOpen]);
  const pressed = (event) => {
    if (event.key === "Escape" && isOpen) {
      event.stopPropagation();
      room.acts.open();
    }
  };
  if (row.change !== undefined) {
    return html`<p class=${`tick accepted ${row.change.lane}`} role="status">${texts.changeAccepted(row.change.lane)}</p>`;
  }
  if (row.item.key === undefined || row.item.deletedAt) {
    return null;
  }
  const Part = PARTS[acting?.what];
  return html`
    <div class="changes" ref=${place} onKeyDown=${pressed}>
      ${isOpen
        ? html`<${Part} row=${row} room=${room} acting=${acting} />`
        : html`<button type="button" class="more quiet" aria-label=${texts.act(clock(row.item.timestamp))}
            onClick=${() => room.acts.open(row, "menu")}><span aria-hidden="true">${MORE}</span></button>`}
      ${acting?.error !== undefined && html`<p class="failure" role="alert">${acting.error.message}</p>`}
    </div>
  `;
}
