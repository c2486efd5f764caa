// Rooms: conversations, and one room live.
import { html } from "../htm.js";
import { Loading } from "../ui.js";

export default function Rooms() {
  return html`<${Loading} />`;
}
