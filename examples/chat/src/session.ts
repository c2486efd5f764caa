/** Signs a person in at an OpenID Connect issuer: authorization code with PKCE (RFC 7636). Tokens stay in this tab. */

/** `config.json` beside the page. */
export interface Config {
  httpUrl: string;
  wsUrl: string;
  authorizeUrl: string;
  tokenUrl: string;
  clientId: string;
  /** What the page asks for, separated by spaces. */
  scope: string;
}

interface Grant {
  token: string;
  refresh: string | undefined;
  /** When the token ends, in epoch milliseconds. */
  until: number;
}

const GRANT = "chat.grant";
const ASKED = "chat.asked";
/** A token is renewed so many milliseconds before its end. */
const EARLY = 120_000;

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const random = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)));
const stored = <T>(name: string): T | undefined => JSON.parse(sessionStorage.getItem(name) ?? "null") ?? undefined;
const here = (): string => location.origin + location.pathname;

/** The fields of a JSON object; none of another text, such as the page of a proxy. */
function fieldsOf(text: string): Record<string, any> {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

/** The claims of a token. Only the API checks them. */
function claims(token: string): { sub: string; username?: string } {
  const part = (token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/");
  return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(part), (each) => each.charCodeAt(0))));
}

export class Session {
  #grant = stored<Grant>(GRANT);
  #isGiven = false;
  #renewal: Promise<string> | undefined;

  constructor(readonly config: Config) {}

  /** The id of the user; undefined before the sign-in. */
  get user(): string | undefined {
    return this.#grant && claims(this.#grant.token).sub;
  }

  get username(): string {
    return (this.#grant && claims(this.#grant.token).username) ?? this.user ?? "";
  }

  /** Take the code that the issuer put into the address, if this tab asked for it. */
  async start(): Promise<void> {
    const answer = new URLSearchParams(location.search);
    const asked = stored<{ state: string; verifier: string; hash: string }>(ASKED);
    if (!answer.has("state")) {
      return;
    }
    history.replaceState(null, "", location.pathname + (asked?.hash ?? ""));
    sessionStorage.removeItem(ASKED);
    if (asked === undefined || asked.state !== answer.get("state")) {
      throw new Error("This tab did not ask for the sign-in that the address names. Sign in here.");
    }
    const code = answer.get("code");
    if (code === null) {
      throw new Error(answer.get("error_description") ?? answer.get("error") ?? "the sign-in has no code");
    }
    const fields = { code, code_verifier: asked.verifier, redirect_uri: here() };
    await this.#ask({ grant_type: "authorization_code", ...fields });
  }

  /** Leave the page for the issuer's login. */
  async signIn(): Promise<void> {
    const { authorizeUrl, clientId, scope } = this.config;
    const [state, verifier] = [random(), random()];
    sessionStorage.setItem(ASKED, JSON.stringify({ state, verifier, hash: location.hash }));
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
    const pkce = { code_challenge: base64url(new Uint8Array(digest)), code_challenge_method: "S256" };
    const query = { response_type: "code", client_id: clientId, redirect_uri: here(), scope, state, ...pkce };
    location.assign(`${authorizeUrl}?${new URLSearchParams(query)}`);
  }

  signOut(): void {
    sessionStorage.removeItem(GRANT);
    location.assign(here());
  }

  /**
   * A token for the client, which keeps it, and asks again when it expires or was refused. So the stored token is given
   * once, and then a new one. If the issuer grants none, the person signs in again.
   */
  token = async (): Promise<string> => {
    const isFirst = !this.#isGiven;
    this.#isGiven = true;
    if (isFirst && this.#grant !== undefined && this.#grant.until > Date.now() + EARLY) {
      return this.#grant.token;
    }
    // Of requests that are refused together, only one uses the refresh token: an issuer may take it once.
    this.#renewal ??= this.#ask({ grant_type: "refresh_token", refresh_token: this.#grant?.refresh ?? "" }).finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  };

  async #ask(fields: Record<string, string>): Promise<string> {
    const body = new URLSearchParams({ client_id: this.config.clientId, ...fields });
    const answer = await fetch(this.config.tokenUrl, { method: "POST", body });
    const found = fieldsOf(await answer.text());
    if (!answer.ok) {
      if (fields["grant_type"] === "refresh_token" && [400, 401].includes(answer.status)) {
        sessionStorage.removeItem(GRANT);
        await this.signIn();
      }
      throw new Error(found["error_description"] ?? found["error"] ?? `The issuer answered ${answer.status}.`);
    }
    const { access_token: token, refresh_token: refresh = this.#grant?.refresh, expires_in: seconds } = found;
    if (typeof token !== "string") {
      throw new Error(`The issuer answered ${answer.status} without a token.`);
    }
    this.#grant = { token, refresh, until: Date.now() + 1000 * seconds };
    sessionStorage.setItem(GRANT, JSON.stringify(this.#grant));
    return token;
  }
}
