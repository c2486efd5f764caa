// All texts of the view #/people.
import { count } from "../texts.js";

export const texts = {
  own: (user) => `Yourself: ${user}`,
  others: "Any user",
  othersHelp: "Before you erase somebody, close the account with the issuer of tokens: with a valid token, a user can go on.",
  userId: "Id of the user",
  rooms: "Any room",
  roomId: "Id of the room",
  room: {
    help:
      "Messages, members, invitations and files go for good. The id of a direct room is free after ten seconds, that of " +
      "another room after 15 days.",
    never: "No deletion was requested.",
    erasure: "Delete",
    erase: "Delete for good",
  },
  show: "Show",
  skier: "Number of the skier who this user is, if any",

  state: { running: "running", done: "done" },
  times: {
    asOf: "Everything until", erasedAt: "Requested", doneAt: "Done", filesUntil: "Files until", freeFrom: "Id free from", backupsUntil: "In backups until",
  },
  counts: "Counts",
  nothing: "nothing yet",
  kinds: {
    changes: "edits and deletions", deadLetters: "events of the dead lane",
    unreadableDeadLetters: "dead letters that cannot be read, and are kept",
  },

  export: "Export",
  exportHelp: "Everything that is held about this user, as compressed JSON lines. A link is good for 15 minutes.",
  noExport: "No export is there.",
  exportNow: "Export now",
  newLinks: "New links",
  files: "Files",
  file: (lines, bytes) => `${count(lines)} lines, ${count(bytes)} bytes`,

  erasure: "Erase",
  help:
    "Texts, names, memberships and reactions go for good. Messages stay as deleted ones; clicks and rides count as before. " +
    "It takes about three minutes.",
  never: "No erasure was requested.",
  type: (user) => `Type ${user} to confirm`,
  erase: "Erase for good",
};
