// All texts of the view #/people.

export const texts = {
  own: (user) => `Yourself: ${user}`,
  others: "Any user",
  othersHelp: "Close the account with the issuer of tokens first: with a valid token, a user can go on.",
  userId: "Id of the user",
  show: "Show",
  skier: "Number of the skier who this user is, if any",

  erasure: "Erase",
  help:
    "Texts, names, memberships and reactions go for good. Messages stay as deleted ones; clicks and rides count as before.",
  never: "No erasure was requested.",
  state: { running: "running, for about three minutes", done: "done" },
  asked: "Requested",
  done: "Done",
  backups: "In backups until",
  counts: "Erased",
  kinds: {
    changes: "edits and deletions", deadLetters: "events of the dead lane",
    unreadableDeadLetters: "dead letters that cannot be read, and are kept",
  },
  nothing: "nothing yet",
  type: (user) => `Type ${user} to confirm`,
  erase: "Erase for good",
};
