// A page of an app against the generated types: it compiles in strict mode, and reads recorded answers and frames.
import type { ClientFrame, ServerFrame } from "./frames";
import type { components, operations } from "./http";

type Schemas = components["schemas"];
type Query<Name extends keyof operations> = NonNullable<operations[Name]["parameters"]["query"]>;
type Answer<Name extends "listMessages" | "listConversations"> =
  operations[Name]["responses"][200]["content"]["application/json"];

export const room: Schemas["RoomRequest"] = { kind: "members" };
export const batch: Schemas["MessageBatch"] = { events: [{ roomId: "lobby", message: "hello" }] };
export const invitation: operations["inviteMember"]["parameters"]["path"] = { roomId: "lobby", userId: "bob" };
// @ts-expect-error a kind of room that does not exist
export const wrongRoom: Schemas["RoomRequest"] = { kind: "secret" };

export function outcome(result: Schemas["MessageResult"]): string {
  if ("lane" in result) {
    return `${result.messageId} waits in ${result.lane} since ${result.timestamp}`;
  }
  // @ts-expect-error a refused message has no lane
  result.lane;
  return `${result.messageId ?? "a message"} is refused: ${result.error.code}`;
}

export function older(page: Answer<"listMessages">): Query<"listMessages"> | null {
  return page.hasMore && page.next !== null ? { before: page.next, limit: 50 } : null;
}

export function follow(rooms: Answer<"listConversations">): ClientFrame[] {
  return rooms.items.map(({ roomId }) => ({ action: "subscribe", requestId: `follow ${roomId}`, roomId }));
}

export function shown(frame: ServerFrame): string {
  switch (frame.type) {
    case "messages":
      return `${frame.items.length} new in ${frame.roomId}`;
    case "signal":
      return `${frame.username} is ${frame.name}`;
    case "resumed":
      return Object.entries(frame.rooms)
        .map(([roomId, room]) => ("error" in room ? `${roomId}: ${room.error.code}` : `${roomId}: ${room.items.length}`))
        .join(", ");
    case "acks":
      return frame.results.map(outcome).join(", ");
    case "error":
      return `${frame.error.code}, field ${frame.error.details[0]?.field ?? "unknown"}`;
    case "pong":
      // @ts-expect-error only messages have items
      frame.items;
      return `the server's time is ${frame.time}`;
    default:
      return frame.type;
  }
}
