// What the compiler accepts and refuses. It is checked, and never run.
import { Headrace } from "../dist/index.js";

declare const headrace: Headrace;

export async function requests(): Promise<void> {
  const page = await headrace.request("GET /rooms/{roomId}/messages", { roomId: "lobby", limit: 3 });
  page.items satisfies { key: string; message: string }[];
  page.position satisfies string;
  const room = await headrace.request("PUT /rooms/{roomId}", { roomId: "lobby", kind: "members" });
  room.createdAt satisfies string;
  await headrace.request("DELETE /rooms/{roomId}/members/{userId}", { roomId: "lobby", userId: "bob", forGood: true });
  await headrace.request("GET /resorts", {});
  await headrace.request("POST /messages/batch", { events: [{ roomId: "lobby", message: "hello" }] });
  // @ts-expect-error a parameter of the path is missing
  await headrace.request("GET /rooms/{roomId}/messages", { limit: 3 });
  // @ts-expect-error a parameter is misspelt
  await headrace.request("GET /rooms/{roomId}/messages", { roomId: "lobby", limits: 3 });
  // @ts-expect-error a path is unknown
  await headrace.request("GET /nothing", {});
}

export async function lists(): Promise<void> {
  for await (const member of headrace.items("GET /rooms/{roomId}/members", { roomId: "lobby" })) {
    member.userId satisfies string;
  }
  for await (const page of headrace.pages("GET /users/{userId}/rooms", { userId: "alice" })) {
    page.items.map((each) => each.unread) satisfies number[];
  }
  // @ts-expect-error a room is no list
  headrace.pages("GET /rooms/{roomId}", { roomId: "lobby" });
}

export async function frames(): Promise<void> {
  const { position } = await headrace.frame("history", { roomId: "lobby", limit: 3 });
  position satisfies string;
  for await (const message of headrace.follow("lobby", { since: position })) {
    message.username satisfies string;
  }
  for await (const change of headrace.followUser("alice", { since: position })) {
    // @ts-expect-error the lists are of no room
    change.roomId;
    if (change.changed !== "lists") {
      change.roomId satisfies string;
    }
  }
  const { lane } = await headrace.send("lobby", "hello");
  lane satisfies "main" | "retry";
  // @ts-expect-error a field of the frame is missing
  await headrace.frame("history", {});
  // @ts-expect-error an action is unknown
  await headrace.frame("nothing", {});
}

export async function streams(): Promise<void> {
  const doors = headrace.stream<{ door: string; heldMs?: number }>("doors");
  const { lane } = await doors.send({ door: "front", heldMs: 20, eventId: "o-1", timestamp: "2026-11-30T08:00:00Z" });
  lane satisfies "main" | "retry";
  const [sent] = await doors.sendMany(new Set([{ door: "front" }]));
  sent?.error?.field satisfies string | undefined;
  const page = await doors.page({ key: "front", limit: 2 });
  page.items satisfies { key: string; eventId: string; door: string; heldMs?: number }[];
  for await (const event of doors.items({ user: "alice", from: "2026-11-30T08:00:00Z" })) {
    event.timestamp satisfies string;
  }
  for await (const event of doors.follow("front", { since: "p1763719263040112" })) {
    // @ts-expect-error where events may be missing there is none
    event.door;
    if (event !== "missed") {
      [event.door, event.key, event.eventId] satisfies string[];
    }
  }
  const window = { from: "2026-11-30T08:00:00Z", to: "2026-11-30T09:00:00Z" };
  const { sums, uniqueUsers } = await doors.window({ ...window, top: 3, method: "card" });
  [sums["heldMs"]?.mean, uniqueUsers] satisfies (number | null | undefined)[];
  (await doors.top({ ...window, by: "method" })).by satisfies string;
  (await doors.series({ ...window, step: 3600, key: "front" })).points.length satisfies number;
  (await doors.activeUsers(window)).uniqueUsers satisfies number;
  (await doors.describe()).keepDays satisfies number;
  await headrace.stream("doors").send({ door: "front" });
  // @ts-expect-error a field of the event is missing
  await doors.send({ heldMs: 20 });
  // @ts-expect-error a parameter is misspelt
  await doors.page({ keys: "front" });
  // @ts-expect-error a window has two ends
  await doors.window({ from: window.from });
}
