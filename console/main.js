// The frame of the console: signs in, and shows the view that the address names, such as #/people/dora.
//
// A view is the default export of its module. It gets `session` (session.js) and `path`, the rest of the address: for
// #/people/dora, ["dora"]. It is loaded when it is opened.
import { html, render, useEffect, useErrorBoundary, useLayoutEffect, useRef, useState } from "./htm.js";
import { signIn, takeSecret } from "./session.js";
import { localTexts, texts } from "./texts.js";
import { Empty, Failure, Loading, useLoad } from "./ui.js";

const VIEWS = {
  "": () => import("./overview/view.js"),
  questions: () => import("./questions/view.js"),
  streams: () => import("./streams/view.js"),
  people: () => import("./people/view.js"),
  "dead-letters": () => import("./dead-letters/view.js"),
};
const PERSON = ["chat:read", "chat:write"];
const OPERATOR = ["ops"];
/** What one must be signed in with to see a view: one of these sets of scopes. */
const SCOPES = {
  "": [OPERATOR], questions: [["analytics:read"]], streams: [["analytics:read"]], people: [PERSON, OPERATOR],
  "dead-letters": [OPERATOR],
};
const USERS = ["alice", "bob", "carol", "dave"];

/** A part of the address; as it is, if it is not encoded as it should be. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The parts of the address: #/people/a%20b is ["people", "a b"]. */
function route() {
  const parts = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
  return parts;
}

function useRoute() {
  const [parts, setParts] = useState(route);
  // Not useEffect: it listens only after the first paint, and a link that is opened before would change nothing.
  useLayoutEffect(() => {
    const changed = () => setParts(route());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return parts;
}

const Navigation = ({ name, session, user, setUser }) => html`
  <header>
    <a class="brand" href="#/"><img src="/console/icon.svg" alt="" width="22" height="22" />Headrace</a>
    <nav aria-label=${texts.navigation}>
      ${Object.keys(VIEWS).map(
        (each) => html`<a href=${`#/${each}`} aria-current=${each === name ? "page" : undefined}>${texts.views[each]}</a>`,
      )}
    </nav>
    ${!session.isLocal && session.userName !== "" && html`
      <span class="user">${texts.signedIn(session.userName)}</span>
      <button type="button" onClick=${() => session.signOut()}>${texts.signOut}</button>
    `}
    ${session.isLocal && html`
      <label class="user"><span>${localTexts.user}</span>
        <select value=${user} onChange=${(event) => setUser(event.currentTarget.value)}>
          ${[...new Set([...USERS, user])].map((each) => html`<option key=${each} value=${each}>${each}</option>`)}
        </select>
      </label>
      <a href="/docs">${localTexts.reference}</a>
    `}
  </header>
`;

/** Says which scopes a view needs, and leads to the login that gives them. */
function SignIn({ session, scopes }) {
  const login = session.loginFor(...scopes);
  if (login === undefined) {
    return html`<${Empty} title=${texts.needsScope(scopes)}>${texts.noLogin}<//>`;
  }
  return html`
    <${Empty} title=${texts.needsScope(scopes)}>
      <button type="button" onClick=${() => session.signIn(login)}>${texts.signIn[login.name] ?? login.name}</button>
    <//>
  `;
}

const NoPage = () => html`<${Empty} title=${texts.noPage}><a href="#/">${texts.views[""]}</a><//>`;

function View({ name, path, session }) {
  const found = useLoad(VIEWS[name], [name]);
  // What a view cannot show is said in its place, until another part of it is opened.
  const [fault, again] = useErrorBoundary();
  useEffect(() => again(), [path.join("/")]);
  if (fault !== undefined) {
    return html`<${Failure} error=${fault} again=${() => again()} />`;
  }
  if (found.error !== undefined) {
    return html`<${Failure} error=${found.error} again=${found.again} />`;
  }
  return found.loading ? html`<${Loading} />` : html`<${found.value.default} session=${session} path=${path} />`;
}

function Console({ session }) {
  const [name, ...path] = useRoute();
  const [user, setUser] = useState(session.user);
  const isPage = Object.hasOwn(VIEWS, name);
  const heading = isPage ? texts.views[name] : texts.noPage;
  const title = useRef(null);
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${heading} · Headrace`;
    // A reader of the screen hears where a link led.
    if (!isFirst.current) {
      title.current.focus();
    }
    isFirst.current = false;
  }, [name]);
  const become = (other) => {
    session.become(other);
    setUser(other);
  };
  return html`
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); title.current.focus(); }}>${texts.skip}</a>
    <${Navigation} name=${name} session=${session} user=${user} setUser=${become} />
    <main id="main" class=${isPage && `view-${name}`}>
      <h1 ref=${title} tabindex="-1">${heading}</h1>
      ${!isPage
        ? html`<${NoPage} />`
        : SCOPES[name].some((scopes) => session.can(...scopes))
          ? html`<${View} key=${`${name} ${user}`} name=${name} path=${path} session=${session} />`
          : SCOPES[name].map((scopes) => html`<${SignIn} session=${session} scopes=${scopes} />`)}
    </main>
  `;
}

function Start() {
  const found = useLoad(signIn);
  if (found.error !== undefined) {
    return html`<main><${Failure} error=${found.error} again=${found.again} /></main>`;
  }
  if (found.value === null) {
    return html`<main><${Empty} title=${texts.noSecret}>${texts.noSecretHelp}<//></main>`;
  }
  return found.value === undefined ? html`<main><${Loading} /></main>` : html`<${Console} session=${found.value} />`;
}

takeSecret(); // leaves the address before it is read
addEventListener("hashchange", () => takeSecret() && location.reload());
document.body.replaceChildren(); // its "Loading …", which Preact would keep
render(html`<${Start} />`, document.body);
