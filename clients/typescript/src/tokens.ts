import { HeadraceError } from "./errors.js";

/** Three parts of base64url: a header, and a subprotocol, can have each of them. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** An access token, or a function that returns one; it is called again before the token expires. */
export type TokenProvider = string | (() => string | Promise<string>);

/** Keeps the token of a provider until shortly before it expires. */
export class Tokens {
  #token: Promise<string> | undefined;
  #until = 0;

  constructor(
    private readonly provider: TokenProvider,
    private readonly renewBefore: number,
  ) {}

  /** The token; rejects with a temporary error, unless the token is a text or the provider threw another. */
  get(): Promise<string> {
    if (this.#token === undefined || Date.now() >= this.#until) {
      const asked = (this.#token = this.#ask());
      this.#until = Infinity; // who asks meanwhile gets the same token
      asked.then(
        (token) => {
          const lifetime = lifetimeOf(token);
          this.#until = Date.now() + Math.max(lifetime - this.renewBefore, lifetime / 2);
        },
        () => this.forget(),
      );
    }
    return this.#token;
  }

  /** Ask the provider for the next use: the token was refused, or expires soon. */
  forget(): void {
    this.#token = undefined;
  }

  async #ask(): Promise<string> {
    const { provider } = this;
    let token: string;
    try {
      token = String(typeof provider === "function" ? await provider() : provider).trim();
    } catch (error) {
      throw error instanceof HeadraceError ? error : new HeadraceError("no_token", `no token: ${error}`);
    }
    if (!JWT.test(token)) {
      const said = `the token is a text of ${token.length} characters; allowed: a JWT, three parts of base64url with dots between`;
      throw new HeadraceError(typeof provider === "function" ? "no_token" : "invalid_token", said);
    }
    return token;
  }
}

/**
 * Milliseconds from the issue of a token to its expiry; 0 if it does not say so. The device's clock may be wrong, so
 * the time of expiry is not compared with it.
 */
function lifetimeOf(token: string): number {
  try {
    const part = token.split(".")[1] ?? "";
    const { iat, exp } = JSON.parse(atob(part.replace(/-/g, "+").replace(/_/g, "/")));
    return (exp - iat) * 1000 || 0;
  } catch {
    return 0;
  }
}
