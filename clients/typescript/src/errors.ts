import type { ErrorBody } from "./types.js";

/** Codes of errors after which the same request may succeed later. */
const TEMPORARY = new Set(["unavailable", "rate_limited", "internal", "token_expired", "no_token"]);

/** A request, a frame or an event that was refused, or that got no answer. */
export class HeadraceError extends Error {
  override readonly name = "HeadraceError";

  constructor(
    /** What happened, such as "forbidden"; "unavailable" also where no answer came, and "failed" with another `cause`. */
    readonly code: string,
    message: string,
    /** The fields that are wrong. */
    readonly details: ErrorBody["details"] = [],
    /** Seconds after which the server takes the request again, if it named them. */
    readonly retryAfter?: number,
    /** The id of the request in the log lines of the server. */
    readonly correlationId?: string,
    /** The status of an HTTP answer. */
    readonly status?: number,
  ) {
    super(message);
  }

  /** Whether the same request may succeed later. */
  get temporary(): boolean {
    return TEMPORARY.has(this.code);
  }

  /** The first field that is wrong, such as "message". */
  get field(): string | undefined {
    return this.details?.[0]?.field;
  }
}

/** No connection or no answer. */
export function unavailable(message: string): HeadraceError {
  return new HeadraceError("unavailable", message);
}

/** The error of an answer's `error`. */
export function errorOf(error: ErrorBody, status?: number): HeadraceError {
  const { code, message, details, retryAfter, correlationId } = error;
  return new HeadraceError(code, message, details, retryAfter ?? undefined, correlationId, status);
}

/** `error` as a {@link HeadraceError}: any other is the cause of one that is not temporary. */
export function known(error: unknown): HeadraceError {
  return error instanceof HeadraceError ? error : Object.assign(new HeadraceError("failed", `${error}`), { cause: error });
}

/** Throw unless `url` is an address with this scheme, or with the encrypted one. */
export function checkAddress(url: string, scheme: "http" | "ws"): void {
  try {
    const { protocol, username, search, hash } = new URL(url);
    if ([`${scheme}:`, `${scheme}s:`].includes(protocol) && username + search + hash === "") {
      return;
    }
  } catch {
    // said below
  }
  const allowed = `${scheme}://host or ${scheme}s://host, and after it only a port and a path`;
  const shown = String(url).replace(/\/\/[^/]*@/, "//…@").replace(/\?.*/s, "?…"); // both can have a secret
  throw new HeadraceError("invalid_url", `"${shown}" is not an address of Headrace; allowed: ${allowed}`);
}
