// For how many days a room keeps its messages: everybody sees it, and an owner of a members room changes it.
import { html, useLayoutEffect, useRef, useState } from "../htm.js";
import { texts } from "./texts.js";

export function Retention({ room, act }) {
  const [isOpen, setOpen] = useState();
  const focused = useRef(null);
  const { retentionDays: days } = room.info;
  useLayoutEffect(() => {
    if (isOpen !== undefined) {
      focused.current?.focus(); // the button that was pressed is gone
    }
  }, [isOpen]);
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
        ${room.isOwner && html` <button ref=${focused} type="button" class="quiet" onClick=${() => setOpen(true)}>${texts.changeKept}</button>`}</p>
    `;
  }
  return html`
    <form class="invite" onSubmit=${submit}>
      <label class="field">${texts.keptDays}
        <span><input ref=${focused} name="days" type="number" min="1" value=${days ?? ""} placeholder=${texts.keptAsStage} />
        <button class="primary">${texts.save}</button></span>
      </label>
      <p class="note">${texts.keptHelp}</p>
      <button type="button" onClick=${() => setOpen(false)}>${texts.cancel}</button>
    </form>
  `;
}
