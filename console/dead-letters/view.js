// The dead lane: what was given up, why, and the way back.
import { html } from "../htm.js";
import { Loading } from "../ui.js";

export default function DeadLetters() {
  return html`<${Loading} />`;
}
