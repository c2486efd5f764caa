import { checkAddress, errorOf, HeadraceError, known, unavailable } from "./errors.js";
import { limitOf } from "./pace.js";
import { pauseAfter, type Settings, sleep } from "./settings.js";
import type { Tokens } from "./tokens.js";

/** The codes of refusals by API Gateway, whose answers have none. */
const GATEWAY_CODES: Record<number, string> = {
  400: "invalid_request",
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  413: "too_large",
  429: "rate_limited",
};

/** Of an upload: a large file on a slow line takes minutes. */
const UPLOAD_TIMEOUT = 600_000;

/** An HTTP answer whose body was read. */
export interface HttpAnswer {
  status: number;
  headers: Headers;
  body: any;
}

/** What a limit of the server has left until it is reset. */
interface Limit {
  left: number;
  resetAt: number;
}

/** Makes HTTP requests with the token. */
export class Http {
  /** By its name, such as "reads". */
  #limits = new Map<string, Limit>();
  /** The name of the limit that counts an operation, as its last answer said. */
  #counts = new Map<string, string>();

  constructor(
    private readonly url: string,
    private readonly tokens: Tokens,
    private readonly fetch: typeof globalThis.fetch,
    private readonly settings: Settings,
  ) {}

  /**
   * Make a request of an operation such as "GET /rooms/{roomId}"; returns the body of its answer.
   *
   * It waits while the limit that counts the operation has nothing left. After 429 it is repeated. After 503 or without
   * an answer it is repeated too, unless it is a POST: the server has perhaps done it. Asking for the address of an
   * upload may be done twice.
   */
  request(operation: string, parameters: Record<string, any>, retryTimeout: number): Promise<any> {
    const isRepeatable = !operation.startsWith("POST") || operation.endsWith("/attachments");
    return this.#repeat(retryTimeout, isRepeatable, async () => {
      await this.#wait(operation);
      const answer = await this.send(operation, parameters);
      if (answer.status >= 300) {
        throw refusal(answer);
      }
      return answer.body;
    });
  }

  /** Put a file to a signed address, without the token. It is done too if an earlier attempt has arrived. */
  put(url: string, headers: Record<string, string>, body: Blob): Promise<void> {
    return this.#repeat(this.settings.retryTimeout, true, async () => {
      const signal = AbortSignal.timeout(UPLOAD_TIMEOUT);
      const answer = await this.#answer(url, { method: "PUT", headers, body, signal, credentials: "omit" });
      if (answer.status >= 300 && answer.status !== 412) {
        // Of two attempts at once, or of S3, which waited too long for the next bytes.
        const isTemporary = answer.status === 409 || /<Code>RequestTimeout</.test(answer.body);
        throw refusal(isTemporary ? { ...answer, status: 503 } : answer);
      }
    });
  }

  async #repeat<T>(retryTimeout: number, isRepeatable: boolean, work: () => Promise<T>): Promise<T> {
    let giveUpAt: number | undefined;
    for (let failed = 0; ; failed += 1) {
      try {
        return await work();
      } catch (error) {
        const refused = known(error);
        const again = refused.temporary && (isRepeatable || /^(rate_limited|no_token)$/.test(refused.code));
        const pause = pauseAfter(failed, this.settings, refused.retryAfter);
        giveUpAt ??= Date.now() + retryTimeout;
        if (!again || Date.now() + pause >= giveUpAt) {
          throw refused;
        }
        await sleep(pause);
      }
    }
  }

  /** Make a request once, with another token if the first one is refused. */
  async send(operation: string, parameters: Record<string, any>): Promise<HttpAnswer> {
    let answer = await this.#fetch(operation, parameters);
    if (answer.status === 401) {
      this.tokens.forget();
      answer = await this.#fetch(operation, parameters);
    }
    if (answer.status < 400 && typeof answer.body === "string") {
      // A redirect, which browsers show as 0, or a page.
      throw new HeadraceError("invalid_answer", `${this.url} does not answer as Headrace does`);
    }
    return answer;
  }

  /** Wait until the server takes the operation, as the header `RateLimit` of earlier answers says. */
  async #wait(operation: string): Promise<void> {
    const limit = this.#limits.get(this.#counts.get(operation) ?? "");
    while (limit !== undefined && limit.left < 1 && limit.resetAt > Date.now()) {
      await sleep(limit.resetAt - Date.now());
    }
    if (limit !== undefined) {
      limit.left -= 1;
    }
  }

  /** Take the header `RateLimit` of an answer, such as `"reads";r=480;t=5`. */
  #told(operation: string, header: string | null): void {
    const { name, ...limit } = limitOf(header, Date.now());
    if (name !== "") {
      this.#counts.set(operation, name);
      this.#limits.set(name, Object.assign(this.#limits.get(name) ?? {}, limit));
    }
  }

  async #fetch(operation: string, parameters: Record<string, any>): Promise<HttpAnswer> {
    checkAddress(this.url, "http");
    const [method = "", template = ""] = operation.split(" ");
    const rest = new Map(Object.entries(parameters).filter(([, value]) => value !== undefined));
    let path = template.replace(/\{(\w+)\}/g, (_, name) => {
      const value = encodeURIComponent(rest.get(name) as string);
      rest.delete(name);
      return value;
    });
    const headers: Record<string, string> = { authorization: `Bearer ${await this.tokens.get()}` };
    const signal = AbortSignal.timeout(this.settings.answerTimeout);
    // A redirect would carry the token to another address, and make a GET of a POST.
    const init: RequestInit = { method, headers, signal, redirect: "manual" };
    if (method === "GET") {
      const query = new URLSearchParams([...rest].map(([name, value]) => [name, String(value)]));
      path += rest.size > 0 ? `?${query}` : "";
    } else if (rest.size > 0 || method !== "DELETE") {
      // A body may be an object without fields. DELETE needs none, and some proxies drop it.
      headers["content-type"] = "application/json";
      init.body = JSON.stringify(Object.fromEntries(rest));
    }
    const answer = await this.#answer(this.url + path, init);
    this.#told(operation, answer.headers.get("ratelimit"));
    return answer;
  }

  async #answer(url: string, init: RequestInit): Promise<HttpAnswer> {
    try {
      const answer = await this.fetch(url, init);
      const text = await answer.text();
      return { status: answer.status, headers: answer.headers, body: jsonOf(text) };
    } catch (error) {
      throw unavailable(`no answer: ${error instanceof Error ? error.message : error}`);
    }
  }
}

/** The error of an answer. */
export function refusal({ status, headers, body }: HttpAnswer): HeadraceError {
  if (typeof body?.error?.code === "string") {
    return errorOf(body.error, status);
  }
  const code = status >= 500 ? "unavailable" : (GATEWAY_CODES[status] ?? `${status}`);
  const wanted = headers.get("retry-after") ?? "";
  const retryAfter = /^[0-9.]+$/.test(wanted) ? +wanted : Math.max(0, (Date.parse(wanted) - Date.now()) / 1000);
  const message = body?.message ?? `the answer has the status ${status}`;
  return new HeadraceError(code, message, [], Number.isNaN(retryAfter) ? undefined : retryAfter, undefined, status);
}

function jsonOf(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    return text; // of a proxy, or of S3
  }
}
