// Files of messages: those that are sent with the next one, and those that a message has.
import { html, useEffect, useRef, useState } from "../htm.js";
import { texts } from "./texts.js";

const MOST = 10; // files of a message
const LARGEST = 10_000_000; // bytes of a file
const SHOWN = /^image\/(png|jpeg|gif|webp)$/;
/** The files that are not sent yet, by user and room. */
const drafts = new Map();

/** The files of a draft: `{ files, refusal, add, keep }`. Each is as its message shows it until it is stored. */
export function useFiles(draft) {
  const [{ files, refusal }, set] = useState({ files: drafts.get(draft) ?? [] });
  const keep = (kept, reason) => {
    drafts.set(draft, kept);
    set({ files: kept, refusal: reason });
  };
  const add = (more) => {
    const kept = [...files];
    let reason;
    for (const file of more) {
      const { name, type, size: bytes } = file;
      if (bytes > 0 && bytes <= LARGEST && kept.length < MOST) {
        kept.push({ name, type, bytes, file });
      } else {
        reason = texts.notAttached(name);
      }
    }
    keep(kept, reason);
  };
  return { files, refusal, add, keep };
}

const Line = ({ name, bytes }) => html`<bdi>${name}</bdi> <span class="note">${texts.size(bytes)}</span>`;

/** The chosen files, why others were not taken, and the button that chooses some. */
export function Files({ files, refusal, add, keep }) {
  const input = useRef(null);
  const chosen = () => {
    add(input.current.files);
    input.current.value = "";
  };
  const takeAway = ({ currentTarget }, file) => {
    keep(files.filter((each) => each !== file));
    currentTarget.form.querySelector("textarea").focus();
  };
  return html`
    ${files.length > 0 && html`
      <ul class="files" aria-label=${texts.toSend}>
        ${files.map((file) => html`
          <li><${Line} ...${file} />
            <button type="button" class="quiet" aria-label=${texts.takeAway(file.name)} onClick=${(event) => takeAway(event, file)}>✕</button></li>
        `)}
      </ul>
    `}
    ${refusal && html`<p class="failure" role="alert">${refusal}</p>`}
    <input type="file" multiple hidden ref=${input} onChange=${chosen} />
    <button type="button" class="quiet" aria-label=${texts.attach} title=${texts.attach} onClick=${() => input.current.click()}>+</button>
  `;
}

/** The files of a message. A live message has no addresses, and each address is good for ten minutes. */
export function Attachments({ item: { key, attachments: files }, room }) {
  const [, draw] = useState();
  const isRenewed = useRef(false);
  const read = async () => {
    try {
      const fresh = await room.client.attachments(room.roomId, key);
      files.forEach((file, at) => Object.assign(file, fresh[at])); // every row that shows the message has these
    } catch {
      // They are asked for again when the message is drawn anew, or clicked.
    }
    draw({});
  };
  const renew = () => {
    if (!isRenewed.current) {
      isRenewed.current = true;
      read();
    }
  };
  const needs = key !== undefined && files?.some(({ url }) => url === undefined);
  useEffect(() => {
    if (needs) {
      read();
    }
  }, [needs]);
  const open = async (event, file) => {
    event.preventDefault();
    await read();
    file.url && window.open(file.url, "_blank", "noreferrer");
  };
  const part = (file) => {
    const { name, type, url } = file;
    const shown = SHOWN.test(type)
      ? html`<img key=${isRenewed.current} src=${url} alt=${name} loading="lazy" onError=${renew} />`
      : html`<${Line} ...${file} />`;
    return key === undefined ? shown : html`<a href=${url ?? "#"} onClick=${(event) => open(event, file)}>${shown}</a>`;
  };
  return files && html`
    <ul class="files">${files.map((file) => html`<li key=${file.id} class=${SHOWN.test(file.type) ? "image" : ""}>${part(file)}</li>`)}</ul>
  `;
}
