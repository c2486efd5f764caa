// Signed in at the issuer's login: authorization code with PKCE, as `headrace login` does. Tokens stay in this tab.
//
// `config.logins` are the logins of the stage: `{ name, authorizeUrl, tokenUrl, clientId, scopes }`. A Cognito pool of
// people gives the scopes of chat, and the operators' pool gives ops: one can be signed in at both.

import { Clients } from "./session.js";

const GRANTS = "headrace.grants";
const ASKED = "headrace.asked";
const EARLY = 60_000; // milliseconds before its end, a token is renewed

const base64 = (bytes) => btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
const random = () => base64(crypto.getRandomValues(new Uint8Array(32)));
const stored = (name) => JSON.parse(sessionStorage.getItem(name) ?? "null");
const here = () => location.origin + location.pathname;

/** The claims of a token: the console shows its user. Only the APIs check it. */
function claims(token) {
  const bytes = Uint8Array.from(atob(token.split(".")[1].replace(/-/g, "+").replace(/_/g, "/")), (each) => each.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes));
}

/** As session.js has it for the local stage, with the users that signed in. */
export class SignedIn {
  isLocal = false;
  #grants = stored(GRANTS) ?? {};
  #clients;
  #renewals = new Map();

  constructor(config, Headrace) {
    this.config = config;
    this.#clients = new Clients(config, Headrace);
  }

  /** Takes the code that the login put into the address. */
  async start() {
    const answer = new URLSearchParams(location.search);
    const asked = stored(ASKED);
    if (!answer.has("state")) {
      return;
    }
    const isAsked = asked?.state === answer.get("state");
    history.replaceState(null, "", location.pathname + (isAsked ? asked.hash : location.hash));
    if (!isAsked) {
      return;
    }
    sessionStorage.removeItem(ASKED);
    if (!answer.has("code")) {
      throw new Error(answer.get("error_description") ?? answer.get("error"));
    }
    const login = this.config.logins.find(({ name }) => name === asked.name);
    const fields = { code: answer.get("code"), code_verifier: asked.verifier, redirect_uri: here() };
    await this.#grant(login, { grant_type: "authorization_code", ...fields });
  }

  /** The id of the user, and the name of the one who signed in last. */
  get user() {
    const [grant] = Object.values(this.#grants);
    return (this.#grants.people ?? grant)?.user ?? "";
  }

  get userName() {
    return Object.values(this.#grants).map(({ userName }) => userName).join(", ");
  }

  /** The login that gives the scopes; undefined if none does. */
  loginFor(...scopes) {
    return this.config.logins.find((login) => scopes.every((scope) => login.scopes.includes(scope)));
  }

  /** Whether someone is signed in with a scope. */
  can(...scopes) {
    return this.#grants[this.loginFor(...scopes)?.name] !== undefined;
  }

  client(...scopes) {
    const login = this.loginFor(...scopes);
    return this.#clients.of(login?.name, scopes, () => this.#token(login));
  }

  /** Leaves the page for the login, and comes back to the view. */
  async signIn({ name, authorizeUrl, clientId, scopes }) {
    const [state, verifier] = [random(), random()];
    sessionStorage.setItem(ASKED, JSON.stringify({ state, verifier, name, hash: location.hash }));
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier)));
    const query = {
      response_type: "code", client_id: clientId, redirect_uri: here(), state, code_challenge: base64(digest), code_challenge_method: "S256",
      scope: scopes.map((scope) => this.config.scopePrefix + scope).join(" "),
    };
    location.assign(`${authorizeUrl}?${new URLSearchParams(query)}`);
  }

  signOut() {
    sessionStorage.clear();
    location.reload();
  }

  /** A token that is good for a while. Without one, the person signs in again. */
  async #token(login) {
    const grant = this.#grants[login.name];
    if (grant !== undefined && grant.until > Date.now() + EARLY) {
      return grant.token;
    }
    if (!this.#renewals.has(login.name)) {
      this.#renewals.set(login.name, this.#renew(login, grant).finally(() => this.#renewals.delete(login.name)));
    }
    await this.#renewals.get(login.name);
    return this.#grants[login.name].token;
  }

  async #renew(login, grant) {
    try {
      await this.#grant(login, { grant_type: "refresh_token", refresh_token: grant?.refresh ?? "" });
    } catch (error) {
      if (error.isRefused) {
        delete this.#grants[login.name];
        this.#keep();
        await this.signIn(login);
      }
      throw error;
    }
  }

  async #grant(login, fields) {
    const body = new URLSearchParams({ client_id: login.clientId, ...fields });
    const answer = await fetch(login.tokenUrl, { method: "POST", body });
    const found = await answer.json().catch(() => ({}));
    if (!answer.ok) {
      const isRefused = answer.status < 500;
      throw Object.assign(new Error(found.error_description ?? found.error ?? `status ${answer.status}`), { isRefused });
    }
    const { sub, username } = claims(found.access_token);
    this.#grants[login.name] = {
      token: found.access_token, refresh: found.refresh_token ?? this.#grants[login.name]?.refresh, user: sub,
      userName: username ?? sub, until: Date.now() + 1_000 * found.expires_in,
    };
    this.#keep();
  }

  #keep() {
    sessionStorage.setItem(GRANTS, JSON.stringify(this.#grants));
  }
}
