// Who was in a room when: from its notices of joins and leaves, and from the list of who is in it now.

/**
 * A list of `{ userId, username, role, intervals }`, those who are in the room first, then by name. An interval is
 * `{ from, to }`: `from` is null where the join is not among the notices, and `to` is null while the user is in the room.
 */
export function intervalsOf(notices, members) {
  const users = new Map();
  const of = (userId, username) => {
    if (!users.has(userId)) {
      users.set(userId, { userId, username, intervals: [] });
    }
    return users.get(userId);
  };
  for (const { messageType, timestamp, userId, username, memberId, memberName } of notices) {
    const { intervals } = of(memberId ?? userId, memberName ?? (memberId === undefined ? username : memberId));
    const last = intervals.at(-1);
    if (messageType === "JOIN" && (last === undefined || last.to !== null)) {
      intervals.push({ from: timestamp, to: null });
    } else if (messageType === "LEAVE" && last?.to === null) {
      last.to = timestamp;
    } else if (messageType === "LEAVE" && last === undefined) {
      intervals.push({ from: null, to: timestamp });
    }
  }
  const inside = new Map(members.map((member) => [member.userId, member]));
  for (const { userId, username, role, joinedAt } of members) {
    const user = Object.assign(of(userId, username), { username, role });
    const last = user.intervals.at(-1);
    if (last?.to === null) {
      last.from = joinedAt;
    } else {
      user.intervals.push({ from: joinedAt, to: null });
    }
  }
  for (const user of users.values()) {
    const last = user.intervals.at(-1);
    if (last?.to === null && !inside.has(user.userId)) {
      last.isUnsure = true; // the notice of the leave is not there yet
    }
  }
  const rank = ({ userId }) => (inside.has(userId) ? 0 : 1);
  return [...users.values()].sort(
    (one, other) => rank(one) - rank(other) || one.username.localeCompare(other.username),
  );
}
