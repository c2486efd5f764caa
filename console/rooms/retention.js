// For how many days a room keeps its messages: everybody sees it, and an owner of a members room changes it.
import { html, useState } from "../htm.js";
import { roomsTexts as texts } from "../texts.js";

const MOST = 3_650; // days

export function Retention({ room, act }) {
  const [isOpen, setOpen] = useState(false);
  const { retentionDays: days } = room.info;
  const submit = async (event) => {
    event.preventDefault();
    const typed = new FormData(event.currentTarget).get("days");
    if ((await act("PATCH /rooms/{roomId}", { retentionDays: typed === "" ? null : Number(typed) })) !== undefined) {
      setOpen(false);
    }
  };
  if (!isOpen) {
    return html`
      <p class="note">${texts.kept(days)}
        ${room.isOwner && html` <button type="button" class="quiet" onClick=${() => setOpen(true)}>${texts.changeKept}</button>`}</p>
    `;
  }
  return html`
    <form class="invite" onSubmit=${submit}>
      <label class="field">${texts.keptDays}
        <span><input name="days" type="number" min="1" max=${MOST} value=${days ?? ""} placeholder=${texts.keptAsStage} autofocus />
        <button class="primary">${texts.save}</button></span>
      </label>
      <p class="note">${texts.keptHelp}</p>
      <button type="button" onClick=${() => setOpen(false)}>${texts.cancel}</button>
    </form>
  `;
}
