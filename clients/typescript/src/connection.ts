import { checkAddress, errorOf, HeadraceError, known, unavailable } from "./errors.js";
import { between, pauseAfter, type Settings } from "./settings.js";
import type { Tokens } from "./tokens.js";
import type { Action, Answer, Fields } from "./types.js";

const SUBPROTOCOL = "headrace.v1";
/** A refused connection opens with one of these, because a page does not see the status of a handshake. */
const EXPIRED = "headrace.token_expired";
const FORBIDDEN = "headrace.forbidden";
const BEAT = 5_000;
/** What API Gateway says of a frame over a limit. Of other frames it says that the function failed, for example. */
const LIMITED = /^(Too Many Requests|Limit Exceeded)/;

/** What the client uses of a WebSocket, of a browser or of a library. */
export interface WebSocketLike {
  readonly protocol: string;
  onopen: ((event: any) => void) | null;
  onmessage: ((event: any) => void) | null;
  onclose: ((event: any) => void) | null;
  onerror: ((event: any) => void) | null;
  send(text: string): void;
  close(): void;
}

export type WebSocketConstructor = new (url: string, protocols: string[]) => WebSocketLike;

/** `idle` until something needs the connection, `closed` after `close()` or when the token is refused. */
export type State = "idle" | "connecting" | "open" | "closed";

/** A frame that the server pushes. */
export type Frame = { type: string; [field: string]: unknown };

/** What happens on a connection. */
export interface Listener {
  /** A connection was opened, or its token was renewed: what was not pushed meanwhile must be fetched. */
  opened(): void;
  received(frame: Frame): void;
  changed(state: State, reason?: HeadraceError): void;
}

interface Waiting {
  resolve(answer: any): void;
  reject(error: HeadraceError): void;
  timer: ReturnType<typeof setTimeout>;
}

/** Keeps one WebSocket open: after each end it opens another one, until it is closed or the token is refused. */
export class Connection {
  state: State = "idle";
  /** Why no connection is made any more. */
  refusal: HeadraceError | undefined;
  /** The number of connections that were opened. */
  opens = 0;
  /** The server's clock minus that of the device, in milliseconds. */
  offset = 0;
  #socket: WebSocketLike | undefined;
  #waiting = new Map<string, Waiting>();
  #number = 0;
  #openers: { resolve(): void; reject(error: HeadraceError): void }[] = [];
  /** Connections in a row that ended before an answer came. */
  #failed = 0;
  /** Handshakes in a row that failed. For most of them a browser does not say why. */
  #handshakes = 0;
  #connecting: ReturnType<typeof setTimeout> | undefined;
  #renewing: ReturnType<typeof setTimeout> | undefined;
  #beating: ReturnType<typeof setInterval> | undefined;
  #beatAt = 0;
  #receivedAt = 0;
  #pinging = false;

  /** `probe` makes an HTTP request, whose 401 says that the token is refused. */
  constructor(
    private readonly url: string,
    private readonly WebSocket: WebSocketConstructor | undefined,
    private readonly tokens: Tokens,
    private readonly settings: Settings,
    private readonly probe: () => Promise<unknown>,
    private readonly listener: Listener,
  ) {}

  /** Open a connection, unless there is one. */
  open(): void {
    if (this.state !== "idle") {
      return;
    }
    this.#beatAt = Date.now();
    this.#beating = setInterval(() => this.#beat(), Math.min(BEAT, this.settings.pingInterval / 4));
    globalThis.addEventListener?.("online", this.#wake);
    globalThis.document?.addEventListener("visibilitychange", this.#wake);
    void this.#connect();
  }

  /** Close the connection for good. */
  close(reason = new HeadraceError("closed", "the client is closed")): void {
    this.refusal ??= reason;
    clearTimeout(this.#connecting);
    clearInterval(this.#beating);
    globalThis.removeEventListener?.("online", this.#wake);
    globalThis.document?.removeEventListener("visibilitychange", this.#wake);
    this.#abandon(reason);
    this.#openers.splice(0).forEach((each) => each.reject(reason));
    this.#change("closed", reason);
  }

  /** Resolves when a connection is open; rejects when none will be made any more. */
  async whenOpen(): Promise<void> {
    if (this.refusal !== undefined) {
      throw this.refusal;
    }
    if (this.state !== "open") {
      checkAddress(this.url, "ws");
      if (this.WebSocket === undefined) {
        const said = "this version of Node has no WebSocket: pass one, such as that of the package ws";
        throw new HeadraceError("no_websocket", said);
      }
      this.open();
      await new Promise<void>((resolve, reject) => this.#openers.push({ resolve, reject }));
    }
  }

  /** Send a frame; resolves with its answer. */
  request<A extends Action>(
    action: A,
    fields: Fields<A>,
    timeout: number = this.settings.answerTimeout,
  ): Promise<Answer<A>> {
    const socket = this.#socket;
    if (this.state !== "open" || socket === undefined) {
      return Promise.reject(this.refusal ?? unavailable("not connected"));
    }
    const requestId = String(++this.#number);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(requestId);
        reject(unavailable("no answer"));
      }, timeout);
      this.#waiting.set(requestId, { resolve, reject, timer });
      socket.send(JSON.stringify({ ...fields, action, requestId }));
    });
  }

  /** Give up the connection number `opens`, and open another one. */
  reconnect(opens: number = this.opens): void {
    if (opens === this.opens && this.state === "open") {
      this.#lost();
    }
  }

  async #connect(): Promise<void> {
    this.#change("connecting");
    let socket: WebSocketLike;
    try {
      if (this.#handshakes > 1) {
        await this.probe().catch((error) => {
          if (known(error).status === 401) {
            throw error;
          }
        });
      }
      const token = await this.tokens.get();
      if (this.state !== "connecting") {
        return; // closed meanwhile
      }
      socket = this.#socket = new this.WebSocket!(this.url, [SUBPROTOCOL, token, EXPIRED, FORBIDDEN]);
    } catch (error) {
      this.#notConnected(error);
      return;
    }
    this.#connecting = setTimeout(() => this.#lost(), this.settings.answerTimeout);
    const mine = (act: () => void) => () => this.#socket === socket && act();
    socket.onopen = mine(() => this.#handshaken(socket.protocol));
    socket.onclose = socket.onerror = mine(() => this.#lost());
    socket.onmessage = (event) => mine(() => this.#receive(event.data))();
  }

  #notConnected(error: unknown): void {
    const reason = known(error);
    if (!reason.temporary) {
      this.close(reason);
    } else if (this.state === "connecting") {
      this.#lost(reason);
    }
  }

  #handshaken(protocol: string): void {
    if (protocol === FORBIDDEN) {
      this.close(new HeadraceError("forbidden", "the token has no scope of the WebSocket API"));
    } else if (protocol === EXPIRED) {
      this.#lost(new HeadraceError("token_expired", "the token has expired"));
    } else {
      this.#opened();
    }
  }

  #opened(): void {
    clearTimeout(this.#connecting);
    this.opens += 1;
    this.#handshakes = 0;
    this.#receivedAt = Date.now();
    this.#change("open");
    this.#openers.splice(0).forEach((each) => each.resolve());
    void this.#ping();
    this.listener.opened();
  }

  #lost(reason = unavailable("the connection ended")): void {
    if (this.state === "connecting") {
      this.#handshakes += 1;
      this.tokens.forget();
    }
    this.#abandon(reason);
    this.#change("connecting", reason);
    clearTimeout(this.#connecting);
    this.#connecting = setTimeout(() => void this.#connect(), pauseAfter(this.#failed, this.settings));
    this.#failed += 1;
  }

  /** Forget the socket at once: a dead one can take minutes to close. */
  #abandon(reason: HeadraceError): void {
    const socket = this.#socket;
    this.#socket = undefined;
    clearTimeout(this.#renewing);
    this.#failAll(reason);
    if (socket !== undefined) {
      socket.onerror = () => {}; // a library throws errors that are not heard
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.close();
    }
  }

  #failAll(reason: HeadraceError): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const each of waiting) {
      clearTimeout(each.timer);
      each.reject(reason);
    }
  }

  #receive(text: string): void {
    this.#receivedAt = Date.now();
    let frame: any;
    try {
      frame = JSON.parse(text);
    } catch {
      // said below
    }
    if (typeof frame !== "object" || frame === null) {
      this.#lost(unavailable("a frame that is not a JSON object"));
      return;
    }
    const waiting = this.#waiting.get(frame.requestId);
    if (frame.type === undefined) {
      // A refusal of API Gateway itself does not say which frame it answers.
      const code = LIMITED.test(frame.message) ? "rate_limited" : "unavailable";
      this.#failAll(new HeadraceError(code, frame.message));
    } else if (frame.requestId === undefined) {
      try {
        this.listener.received(frame);
      } catch (error) {
        this.close(known(error));
      }
    } else if (waiting !== undefined) {
      // An answer to a request that was given up is dropped.
      this.#waiting.delete(frame.requestId);
      clearTimeout(waiting.timer);
      this.#failed = 0;
      if (frame.type === "error") {
        this.#refused(errorOf(frame.error), waiting);
      } else {
        waiting.resolve(frame);
      }
    }
  }

  #refused(error: HeadraceError, waiting: Waiting): void {
    waiting.reject(error);
    if (error.code === "token_expired") {
      this.tokens.forget();
      this.#lost();
    }
  }

  #change(state: State, reason?: HeadraceError): void {
    if (state !== this.state) {
      this.state = state;
      this.listener.changed(state, reason);
    }
  }

  /** Ask whether the connection still works, and for the server's clock. */
  async #ping(): Promise<void> {
    if (this.#pinging) {
      return;
    }
    this.#pinging = true;
    const { opens } = this;
    const sent = Date.now();
    try {
      const { time, tokenExpiresAt } = await this.request("ping", {}, this.settings.pingTimeout);
      this.offset = Date.parse(time) - (sent + Date.now()) / 2;
      this.#renewAt(Date.parse(tokenExpiresAt));
    } catch (error) {
      if (/^(unavailable|failed)$/.test(known(error).code)) {
        this.reconnect(opens);
      }
    } finally {
      this.#pinging = false;
    }
  }

  #beat(): void {
    const now = Date.now();
    // Timers rest while a device sleeps, and its connections are then often dead without a notice.
    const slept = now - this.#beatAt > 3 * BEAT;
    this.#beatAt = now;
    if (this.state === "open" && (slept || now - this.#receivedAt >= this.settings.pingInterval)) {
      void this.#ping();
    }
  }

  /** The device is online again, or the page is looked at: do not wait for a timer. */
  #wake = (): void => {
    if (this.state === "open") {
      void this.#ping();
    } else if (this.state === "connecting" && this.#socket === undefined) {
      clearTimeout(this.#connecting);
      this.#connecting = setTimeout(() => void this.#connect(), between(0, this.settings.firstPause));
    }
  };

  #renewAt(expiry: number): void {
    const left = expiry - (Date.now() + this.offset);
    const wait = Math.max(left - this.settings.renewBefore, left / 2, this.settings.firstPause);
    clearTimeout(this.#renewing);
    this.#renewing = setTimeout(() => void this.#renew(), Math.min(wait, 2 ** 31 - 1));
  }

  /** Renew the token; if that fails, the next `ping` says until when it is good, or that it has expired. */
  async #renew(): Promise<void> {
    const { opens } = this;
    try {
      this.tokens.forget();
      const { tokenExpiresAt } = await this.request("authenticate", { token: await this.tokens.get() });
      this.#renewAt(Date.parse(tokenExpiresAt));
      this.listener.opened(); // nothing is pushed while a token is expired, as after the sleep of a device
    } catch (error) {
      if (!known(error).temporary) {
        this.reconnect(opens);
      } else if (opens === this.opens) {
        void this.#ping();
      }
    }
  }
}
