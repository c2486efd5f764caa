/** Types of requests, answers and frames, derived from the API descriptions. */
import type { paths } from "./generated/http.js";
import type { components } from "./generated/websocket.js";

type Frames = components["schemas"]["Frames"];

/** A frame that the server answers, such as "subscribe". */
export type Action = keyof Frames;

/** The fields of a frame; the client adds `action` and `requestId`. */
export type Fields<A extends Action> = Omit<Frames[A]["frame"], "action" | "requestId">;

/** The answer to a frame. */
export type Answer<A extends Action> = Frames[A]["answer"];

/** A stored message; `key` is its place in the room. */
export type Message = PushedMessages["items"][number];

/** A file of a message. */
export type Attachment = components["schemas"]["SentAttachment"];

/** An attachment with its address, which is good for ten minutes and needs no token. */
export type AttachmentItem = Required<components["schemas"]["LinkedAttachment"]>;

/** New messages of a room, as the server pushes them. */
type PushedMessages = components["schemas"]["frame.messages"];

/** What has changed for a user in a room. */
export type Change = PushedChanges["items"][number];

/** A change, or `lists`: at first, and where changes can be missing, read the lists of rooms and invitations. */
export type UserChange = Change | { changed: "lists" };

/** What has changed for a user, as the server pushes it. */
type PushedChanges = components["schemas"]["frame.changes"];

/** What each event of a declared stream has, besides its fields; `key` is its place in a page. */
export type StreamEvent = { key: string; timestamp: string };

/** What a loop gets: `missed` where events of a stream may be missing. */
export type Delivered = Message | UserChange | StreamEvent | "missed";

/** New events of a key, as the server pushes them. */
type PushedEvents = Omit<components["schemas"]["frame.events"], "items"> & { items: StreamEvent[] };

/** What the server pushes of what is followed. */
export type Pushed = PushedMessages | PushedChanges | PushedEvents;

/** A text such as "typing", which another connection sent to a followed room. It is stored nowhere. */
export type Signal = components["schemas"]["frame.signal"];

/** The error of a request, a frame or an event, as the server sends it. */
export type ErrorBody = components["schemas"]["frame.error"]["error"];

type Method = "get" | "put" | "post" | "delete" | "patch";

/** An HTTP operation: its method and its path, such as "GET /rooms/{roomId}/messages". */
export type Operation = {
  [P in keyof paths]: {
    [M in Method]: paths[P][M] extends { responses: unknown } ? `${Uppercase<M>} ${P & string}` : never;
  }[Method];
}[keyof paths];

type Described<O extends Operation> = O extends `${infer M} ${infer P extends keyof paths & string}`
  ? paths[P][Lowercase<M> & Method]
  : never;

type PathOf<D> = D extends { parameters: { path: infer P } } ? P : unknown;
type QueryOf<D> = D extends { parameters: { query?: infer Q } } ? Given<NonNullable<Q>> : unknown;
type Given<T> = [T] extends [never] ? unknown : T;
type BodyOf<D> = D extends { requestBody?: { content: { "application/json": infer B } } } ? B : unknown;
type Success<R> = R extends Record<200, infer A> | Record<201, infer A> | Record<202, infer A> ? A : never;

/** The parameters of an operation in one object: those of its path, of its query and of its body. */
export type Parameters<O extends Operation> = PathOf<Described<O>> &
  QueryOf<Described<O>> &
  Omit<BodyOf<Described<O>>, keyof PathOf<Described<O>>>;

/** The body of the answer to an operation. */
export type Result<O extends Operation> =
  Described<O> extends { responses: infer R }
    ? Success<R> extends { content: { "application/json": infer A } }
      ? A
      : void
    : never;

/** The operations whose answers are pages of a list. */
export type Listing = {
  [O in Operation]: Result<O> extends { items: unknown[]; next: string | null } ? O : never;
}[Operation];

/** An item of a list. */
export type Item<O extends Listing> = Result<O> extends { items: (infer I)[] } ? I : never;
