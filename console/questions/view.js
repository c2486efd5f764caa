// Questions: what happened in a window of time, on a resort's day, and to ads.
import { html, useMemo } from "../htm.js";
import { Ad } from "./ad.js";
import { Messages } from "./messages.js";
import { Resort } from "./resort.js";
import { texts } from "./texts.js";
import { address, windowOf } from "./window.js";

const SCOPE = "analytics:read";
/** Milliseconds of temporary errors, after which the reader decides. */
const PATIENCE = 5_000;
const QUESTIONS = { messages: Messages, resort: Resort, ads: Ad };

/** `path`: the name of a question, then what it asks for, such as ["messages", "last", "300", "room", "lobby"]. */
export default function Questions({ session, path: [name = "messages", ...path] }) {
  const asked = name in QUESTIONS ? name : "messages";
  const Question = QUESTIONS[asked];
  const [window] = windowOf(path);
  const client = useMemo(() => {
    const asking = session.client(SCOPE);
    return { request: (operation, parameters) => asking.request(operation, parameters, { retryTimeout: PATIENCE }) };
  }, [session]);
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
