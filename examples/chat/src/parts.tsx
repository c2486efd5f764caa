/** What several parts of the page show. */
import type { Conversation } from "./chat.js";

/** What a room is called: its name, the other one of a direct room, or its id. */
export function titleOf(room: Pick<Conversation, "roomId" | "name" | "form"> & Partial<Conversation>, user: string): string {
  const { lastMessage: last } = room;
  return room.name ?? (room.form === "direct" ? (last && last.userId !== user ? last.username : "Direct room") : room.roomId);
}

export function Avatar({ name, id }: { name: string; id: string }) {
  const hue = [...id].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 12, 7);
  return <span class={`avatar hue-${hue}`} aria-hidden="true">{[...name][0]?.toUpperCase()}</span>;
}

export const clock = (time: string): string => new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });

/** Given as `ref`, it moves the focus to an element that appears. As it is always the same function, it does so once. */
export const focused = (element: HTMLElement | null): void => element?.focus();
