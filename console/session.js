// Who is signed in: the address of the API, tokens and clients, and what only a local stage answers.

const SECRET = "headrace.secret";
const USER = "headrace.user";
/** Milliseconds: a redrive works for 15 s, and API Gateway ends a request after 30. */
const OPERATORS_TIMEOUT = 30_000;

/** Whether the address had the secret behind its #. It stays in this tab, and leaves the address. */
export function takeSecret() {
  const [, given] = location.hash.match(/^#([\w-]{32,})$/) ?? [];
  if (given !== undefined) {
    sessionStorage.setItem(SECRET, given);
    history.replaceState(null, "", location.pathname);
  }
  return given !== undefined;
}

/** Asks the local stage's own server; with `body`, it is a POST. */
export async function local(path, body) {
  const address = `${path}${path.includes("?") ? "&" : "?"}secret=${encodeURIComponent(sessionStorage.getItem(SECRET) ?? "")}`;
  const answer = await fetch(address, {
    method: body === undefined ? "GET" : "POST",
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const result = await answer.json();
  if (!answer.ok) {
    throw new Error(result.message ?? result.error?.message ?? `status ${answer.status}`);
  }
  return result;
}

/** The TypeScript clients, for HTTP only: one for each user and set of scopes. */
export class Clients {
  #clients = new Map();

  constructor({ httpUrl }, Headrace) {
    Object.assign(this, { httpUrl, Headrace });
  }

  /** The client with a set of scopes; `token()` gives its tokens. */
  of(user, scopes, token) {
    const key = [user, ...scopes].join(" ");
    if (!this.#clients.has(key)) {
      const settings = scopes.includes("ops") ? { answerTimeout: OPERATORS_TIMEOUT } : {};
      this.#clients.set(key, new this.Headrace({ httpUrl: this.httpUrl, token, settings }));
    }
    return this.#clients.get(key);
  }
}

/**
 * The session of the person at the page. `isLocal`: on a local stage, which gives tokens of any user. `user`: the id of
 * the user. A view takes the client with the scopes that it needs: `session.client("chat:read", "chat:write")`.
 */
class Session {
  #clients;

  constructor(config, Headrace) {
    this.isLocal = true;
    this.user = sessionStorage.getItem(USER) ?? "alice";
    this.#clients = new Clients(config, Headrace);
  }

  /** Whether the user can have scopes, such as "ops". */
  can() {
    return true;
  }

  /** The TypeScript client of the user. */
  client(...scopes) {
    const { user } = this;
    return this.#clients.of(user, scopes, async () => (await local("/console/token", { user, scopes })).access_token);
  }

  /** Goes on as another user; only on a local stage. */
  become(user) {
    sessionStorage.setItem(USER, user);
    this.user = user;
  }
}

/** The session of the person; null without the secret of a local stage. */
export async function signIn() {
  const [answer, { Headrace }] = await Promise.all([fetch("/console/config.json"), import("/headrace-client.js")]);
  const config = await answer.json();
  if (config.logins === undefined) {
    return sessionStorage.getItem(SECRET) === null ? null : new Session(config, Headrace);
  }
  const { SignedIn } = await import("./sign-in.js");
  const session = new SignedIn(config, Headrace);
  await session.start();
  return session;
}
