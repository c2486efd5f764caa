import { HeadraceError, unavailable } from "./errors.js";

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

  /** The token; rejects with a {@link HeadraceError}, a temporary one unless the provider threw another. */
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
    try {
      return typeof this.provider === "string" ? this.provider : await this.provider();
    } catch (error) {
      throw error instanceof HeadraceError ? error : unavailable(`no token: ${error}`);
    }
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
