export type { Frame, State, WebSocketConstructor, WebSocketLike } from "./connection.js";
export { HeadraceError } from "./errors.js";
export type { Following } from "./following.js";
export { Headrace, type Options } from "./headrace.js";
export type { Accepted, SentEvent } from "./sender.js";
export type { Settings } from "./settings.js";
export type {
  AcceptedEvent,
  Description,
  EventFields,
  EventPage,
  EventsQuery,
  NewEvent,
  StoredEvent,
  Stream,
} from "./stream.js";
export type { TokenProvider } from "./tokens.js";
export type {
  Action,
  Answer,
  Attachment,
  AttachmentItem,
  Change,
  Fields,
  Item,
  Listing,
  Message,
  Operation,
  Parameters,
  Result,
  Signal,
  UserChange,
} from "./types.js";
