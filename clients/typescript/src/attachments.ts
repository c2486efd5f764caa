import type { Attachment } from "./types.js";

const LONGEST = 128; // characters of a name
const ANY = "application/octet-stream";
/** Those that the platform takes, without {@link ANY}. */
const TYPES =
  /^(image\/(png|jpeg|gif|webp)|application\/(pdf|zip)|text\/plain|audio\/(mpeg|ogg|mp4)|video\/(mp4|webm))$/;

/** The name of a `File`, as the platform takes it. */
export function nameOf(blob: Blob): string {
  return [...((blob as File).name ?? "").replace(/[\p{Cc}\p{Cs}/#\u202A-\u202E\u2066-\u2069]/gu, "_")].slice(-LONGEST).join("");
}

/** The type of a file, such as "text/plain;charset=utf-8", as the platform takes it. */
export function typeOf(given: string): Attachment["type"] {
  const type = given.replace(/;.*/, "").toLowerCase();
  return TYPES.test(type) ? (type as Attachment["type"]) : ANY;
}
