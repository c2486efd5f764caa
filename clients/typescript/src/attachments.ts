/** A file of a message; the types are those that the platform takes. */
export interface Attachment {
  id: string;
  name: string;
  type: string;
  bytes: number;
}

/** An attachment with its address, which is good for ten minutes and needs no token. */
export interface AttachmentItem extends Attachment {
  url: string;
}

const LONGEST = 128; // characters of a name
const ANY = "application/octet-stream";
const TYPES =
  /^(image\/(png|jpeg|gif|webp)|application\/(pdf|zip)|text\/plain|audio\/(mpeg|ogg|mp4)|video\/(mp4|webm))$/;

/** The name of a `File`, as the platform takes it. */
export function nameOf(blob: Blob): string {
  return [...((blob as File).name ?? "").replace(/[\p{Cc}\p{Cs}/#\u202A-\u202E\u2066-\u2069]/gu, "_")].slice(-LONGEST).join("");
}

/** The type of a file, such as "text/plain;charset=utf-8", as the platform takes it. */
export function typeOf(given: string): string {
  const type = given.replace(/;.*/, "").toLowerCase();
  return TYPES.test(type) ? type : ANY;
}
