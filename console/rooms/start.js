// A dialog that creates or joins a room, or opens the direct room with another user.
import { html, useRef, useState } from "../htm.js";
import { hrefOf } from "./conversations.js";
import { texts } from "./texts.js";

const PERSON = "person";

export function StartRoom({ conversations }) {
  const dialog = useRef(null);
  const [kind, setKind] = useState("open");
  const [error, setError] = useState();
  const { client, user } = conversations;

  const submit = async (event) => {
    event.preventDefault();
    const name = new FormData(event.currentTarget).get("name").trim();
    setError(undefined);
    try {
      const roomId = kind === PERSON ? await openDirect(name) : await openRoom(name);
      dialog.current.close();
      conversations.refresh();
      location.hash = hrefOf(roomId);
    } catch (failure) {
      setError(failure);
    }
  };
  const openDirect = async (otherId) =>
    (await client.request("PUT /users/{userId}/direct/{otherId}", { userId: user, otherId })).roomId;
  const openRoom = async (roomId) => {
    await client.request("PUT /rooms/{roomId}", { roomId, kind });
    await client.request("PUT /rooms/{roomId}/members/{userId}", { roomId, userId: user });
    return roomId;
  };
  return html`
    <button type="button" class="new" aria-label=${texts.start} title=${texts.start}
      onClick=${() => dialog.current.showModal()}>+</button>
    <dialog ref=${dialog} aria-label=${texts.start} onClick=${(event) => event.target === dialog.current && dialog.current.close()}>
      <form onSubmit=${submit}>
        <h2>${texts.start}</h2>
        <fieldset>
          <legend class="hidden">${texts.start}</legend>
          ${["open", "members", PERSON].map((each) => html`
            <label class="choice"><input type="radio" name="kind" checked=${kind === each} onChange=${() => setKind(each)} />
              <span><b>${texts.kinds[each]}</b><span class="note">${texts.kindsHelp[each]}</span></span></label>
          `)}
        </fieldset>
        <label class="field">${kind === PERSON ? texts.userId : texts.roomId}
          <input name="name" required maxlength="128" autocomplete="off" autofocus dir="auto" />
        </label>
        ${error !== undefined && html`<p class="failure" role="alert">${texts.errors[error.code] ?? error.message}</p>`}
        <div class="buttons">
          <button type="button" onClick=${() => dialog.current.close()}>${texts.cancel}</button>
          <button class="primary">${texts.go}</button>
        </div>
      </form>
    </dialog>
  `;
}
