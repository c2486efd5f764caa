// Questions: what happened in a window of time, on a resort's day, and to ads.
import { html } from "../htm.js";
import { Ad } from "./ad.js";
import { Messages } from "./messages.js";
import { useAsking } from "./parts.js";
import { Resort } from "./resort.js";
import { texts } from "./texts.js";
import { address, windowOf } from "./window.js";

const QUESTIONS = { messages: Messages, resort: Resort, ads: Ad };

/** `path`: the name of a question, then what it asks for, such as ["messages", "last", "300", "room", "lobby"]. */
export default function Questions({ session, path: [name = "messages", ...path] }) {
  const asked = Object.hasOwn(QUESTIONS, name) ? name : "messages";
  const Question = QUESTIONS[asked];
  const [window] = windowOf(path);
  const client = useAsking(session);
  return html`
    <nav class="tabs" aria-label=${texts.questions}>
      ${Object.keys(QUESTIONS).map((each) => html`
        <a key=${each} href=${address(each, each === "resort" ? undefined : window)} aria-current=${each === asked ? "page" : undefined}>
          ${texts.names[each]}</a>
      `)}
    </nav>
    <${Question} key=${asked} client=${client} path=${path} />
  `;
}
