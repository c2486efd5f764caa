// What one does with a message: edit it, delete it, and look at its earlier texts.
import { html, useEffect, useRef } from "../htm.js";
import { roomsTexts as texts } from "../texts.js";
import { Loading } from "../ui.js";
import { clock, dayAndTime } from "./format.js";

const LARGEST = 4_096; // bytes of a text

/** A ref of what gets the focus when it is shown. */
function useFocus() {
  const element = useRef(null);
  useEffect(() => element.current?.focus(), []);
  return element;
}

function Menu({ row, room }) {
  const { item } = row;
  const isOwn = item.userId === room.user;
  const focus = useFocus();
  return html`
    <div class="acts">
      ${isOwn && html`
        <button type="button" ref=${focus} onClick=${() => room.act(row, "edit", { text: item.message })}>${texts.edit}</button>
      `}
      <button type="button" class="danger" ref=${isOwn ? undefined : focus} onClick=${() => room.act(row, "delete")}>${texts.delete}</button>
      ${item.editedAt && html`<button type="button" onClick=${() => room.versions(row)}>${texts.versions}</button>`}
      <button type="button" class="quiet" onClick=${() => room.act(row)}>${texts.cancel}</button>
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
      room.act(row, "edit", { text, error: new Error(texts.tooLong(bytes, LARGEST)) });
    } else if (text === row.item.message) {
      room.act(row);
    } else if (text !== "") {
      room.changeText(row, text);
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
        <button type="button" class="quiet" onClick=${() => room.act(row)}>${texts.cancel}</button>
      </div>
    </form>
  `;
}

function Delete({ row, room, acting }) {
  const focus = useFocus();
  return html`
    <div class="acts">
      <p class="note">${texts.surely}</p>
      <button type="button" class="danger" ref=${focus} disabled=${acting.isBusy} onClick=${() => room.changeText(row)}>${texts.delete}</button>
      <button type="button" onClick=${() => room.act(row)}>${texts.keep}</button>
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
    <div class="acts"><button type="button" ref=${focus} onClick=${() => room.act(row)}>${texts.close}</button></div>
  `;
}

const PARTS = { menu: Menu, edit: Edit, delete: Delete, versions: Versions };

/** The button that opens the actions of a message, and the opened one: `acting` of the room, if it is this message. */
export function Changes({ row, room, acting }) {
  const place = useRef(null);
  const wasOpen = useRef(false);
  const isOpen = acting !== undefined;
  useEffect(() => {
    // Where the focus was goes away: it returns to the button, or to the list of messages.
    if (wasOpen.current && !isOpen) {
      (place.current?.querySelector(".more") ?? document.querySelector(".log"))?.focus();
    }
    wasOpen.current = isOpen;
  }, [isOpen]);
  const pressed = (event) => {
    if (event.key === "Escape" && isOpen) {
      event.stopPropagation();
      room.act(row);
    }
  };
  if (row.change !== undefined) {
    return html`<p class=${`tick accepted ${row.change.lane}`} role="status">${texts.changeAccepted(row.change.lane)}</p>`;
  }
  if (!room.mayChange(row.item)) {
    return null;
  }
  const Part = PARTS[acting?.what];
  return html`
    <div class="changes" ref=${place} onKeyDown=${pressed}>
      ${isOpen
        ? html`<${Part} row=${row} room=${room} acting=${acting} />`
        : html`<button type="button" class="more quiet" aria-label=${texts.change(clock(row.item.timestamp))}
            onClick=${() => room.act(row, "menu")}><span aria-hidden="true">⋯</span></button>`}
      ${acting?.error !== undefined && html`<p class="failure" role="alert">${acting.error.message}</p>`}
    </div>
  `;
}
