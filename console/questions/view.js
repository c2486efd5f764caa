// Questions: what happened in a window of time.
import { html } from "../htm.js";
import { Loading } from "../ui.js";

export default function Questions() {
  return html`<${Loading} />`;
}
