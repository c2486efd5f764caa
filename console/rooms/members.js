// The members of a room, when each was in it, and what can be done with memberships.
import { html, useEffect, useState } from "../htm.js";
import { Failure, Loading, State, useLoad } from "../ui.js";
import { dayAndTime, moment } from "./format.js";
import { intervalsOf } from "./intervals.js";
import { Avatar } from "./message.js";
import { Retention } from "./retention.js";
import { texts } from "./texts.js";

const MOST = 500; // members that are listed
const PAGES = 5; // of messages, at each click

async function listOf(pages) {
  const items = [];
  for await (const page of pages) {
    items.push(...page.items);
    if (items.length >= MOST) {
      break;
    }
  }
  return items;
}

/** The intervals as bars between the first join and now. */
function Bars({ intervals, first, now }) {
  const place = (at) => (100 * (Date.parse(at) - first)) / Math.max(1, now - first);
  return html`
    <svg class="bars" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
      <rect class="ground" width="100" height="4" />
      ${intervals.map(({ from, to }) => {
        const x = from === null ? 0 : place(from);
        return html`<rect x=${x} width=${Math.max(1, (to === null ? 100 : place(to)) - x)} height="4" />`;
      })}
    </svg>
  `;
}

/** That a user is in the room now, or was until their client was silent. */
function Here({ of }) {
  if (of === undefined) {
    return null;
  }
  return of.isSure
    ? html`<${State} tone="good">${texts.isHere(of.connections)}<//>`
    : html`<${State} tone="busy">${texts.wasHere(dayAndTime(of.checkedAt))}<//>`;
}

/** Who follows an open room, and is none of its members. */
function Visitors({ room, members }) {
  const { online, history } = room;
  const known = new Set(members.map(({ userId }) => userId));
  const visitors = [...online.users.values()].filter(({ userId }) => !known.has(userId));
  if (visitors.length === 0) {
    return null;
  }
  return html`
    <h4>${texts.visitors}</h4>
    <ul class="people">
      ${visitors.map((each) => html`
        <li key=${each.userId}><${Avatar} id=${each.userId} name=${history.nameOf(each.userId)} />
          <div><p><b><bdi>${history.nameOf(each.userId)}</bdi></b></p><p class="note"><${Here} of=${each} /></p></div></li>
      `)}
    </ul>
  `;
}

function Member({ member, room, first, now, act }) {
  const { userId, username, role, intervals } = member;
  const isIn = role !== undefined;
  return html`
    <li class=${isIn ? "" : "former"}>
      <${Avatar} id=${userId} name=${username} />
      <div>
        <p class="name"><b><bdi>${username}</bdi></b>
          ${isIn && room.isOwner && userId !== room.user && userId !== room.info.createdBy && html`
            <button type="button" class="quiet" aria-label=${texts.removeName(username)}
              onClick=${() => act("DELETE /rooms/{roomId}/members/{userId}", { userId })}>${texts.remove}</button>
          `}
        </p>
        <p class="note">
          ${isIn && room.info?.kind === "members" && html`${texts.roles[role]} `}<${Here} of=${room.online.users.get(userId)} />
        </p>
        <${Bars} intervals=${intervals} first=${first} now=${now} />
        <ul class="intervals">
          ${intervals.map(({ from, to }) => html`
            <li title=${[from, to].filter(Boolean).map(moment).join(" – ")}>${texts.interval(from && dayAndTime(from), to && dayAndTime(to))}</li>
          `)}
        </ul>
      </div>
    </li>
  `;
}

function Invite({ act }) {
  const [told, setTold] = useState("");
  const submit = async (event) => {
    event.preventDefault();
    const form = event.currentTarget;
    const userId = new FormData(form).get("userId").trim();
    const answer = await act("PUT /rooms/{roomId}/members/{userId}", { userId });
    if (answer !== undefined) {
      form.reset();
      setTold(answer.invitedAt ? texts.invited(userId) : texts.added(userId));
    }
  };
  return html`
    <form class="invite" onSubmit=${submit}>
      <label class="field">${texts.inviteUser}
        <span><input name="userId" required maxlength="128" autocomplete="off" placeholder=${texts.userId} dir="auto" />
        <button class="primary">${texts.invite}</button></span>
      </label>
      <p class="note" role="status">${told}</p>
    </form>
  `;
}

function Leave({ room, act }) {
  const [asks, setAsks] = useState(false);
  const leave = (forGood) => act("DELETE /rooms/{roomId}/members/{userId}", forGood ? { userId: room.user, forGood } : { userId: room.user });
  if (!asks) {
    return html`<button type="button" class="danger" onClick=${() => setAsks(true)}>${texts.leave}</button>`;
  }
  return html`
    <div class="leave">
      <p class="note">${texts.leaveHelp[room.info.kind]}</p>
      <button type="button" class="danger" onClick=${() => leave(false)}>${texts.leave}</button>
      <button type="button" class="danger" onClick=${() => leave(true)}>${texts.leaveForGood}</button>
      <button type="button" onClick=${() => setAsks(false)}>${texts.stay}</button>
    </div>
  `;
}

/** `close` closes the panel. */
export function Members({ room, close }) {
  const { client, roomId, history } = room;
  const notices = history.stored.filter(({ item }) => item.messageType !== "TEXT").map(({ item }) => item);
  const [reads, setReads] = useState(false);
  const found = useLoad(async () => {
    const members = await listOf(client.pages("GET /rooms/{roomId}/members", { roomId, limit: 100 }));
    const invitations = room.isOwner ? await listOf(client.pages("GET /rooms/{roomId}/invitations", { roomId, limit: 100 })) : [];
    return { members, invitations };
  }, [roomId, room.isOwner, notices.length, room.membership?.state]);

  const act = async (operation, parameters) => {
    const answer = await room.change(operation, parameters);
    found.again();
    return answer;
  };
  const readOn = async () => {
    setReads(true);
    for (let page = 0; page < PAGES && !history.hasStart; page += 1) {
      await room.read("older");
    }
    setReads(false);
  };
  useEffect(() => {
    document.getElementById("members-title").focus();
    room.online.look();
  }, []);
  const members = intervalsOf(notices, found.value?.members ?? []);
  const times = members.flatMap(({ intervals }) => intervals.map(({ from, to }) => Date.parse(from ?? to)));
  const first = Math.min(Date.now() - 60_000, ...times);
  const oldest = history.stored[0]?.item.timestamp;
  return html`
    <aside class="panel members" aria-labelledby="members-title">
      <div class="bar">
        <h3 id="members-title" tabindex="-1">${texts.members}</h3>
        <button type="button" class="quiet" aria-label=${texts.closeMembers} onClick=${close}>✕</button>
      </div>
      <div class="scrolls">
        ${found.error !== undefined && html`<${Failure} error=${found.error} again=${found.again} />`}
        ${found.value === undefined && found.error === undefined && html`<${Loading} />`}
        ${room.isOwner && html`<${Invite} act=${act} />`}
        ${room.info !== undefined && html`<${Retention} room=${room} act=${act} />`}
        ${found.value?.invitations.length > 0 && html`
          <h4>${texts.invitedNow}</h4>
          <ul class="people">
            ${found.value.invitations.map(({ userId, invitedBy, invitedAt }) => html`
              <li key=${userId}>
                <${Avatar} id=${userId} name=${userId} />
                <div><p><b><bdi>${userId}</bdi></b></p><p class="note">${texts.invitedByAt(invitedBy, dayAndTime(invitedAt))}</p></div>
                <button type="button" class="quiet" aria-label=${texts.withdrawName(userId)}
                  onClick=${() => act("DELETE /rooms/{roomId}/members/{userId}", { userId })}>${texts.withdraw}</button>
              </li>
            `)}
          </ul>
        `}
        <ul class="people">
          ${(found.value !== undefined || found.error !== undefined) && members.map((each) => html`<${Member} key=${each.userId} member=${each} room=${room} first=${first} now=${Date.now()} act=${act} />`)}
        </ul>
        ${found.value !== undefined && members.length === 0 && html`<p class="note">${texts.noMembers}</p>`}
        ${found.value !== undefined && html`<${Visitors} room=${room} members=${members} />`}
        ${room.online.hasMore && html`<p class="note">${texts.moreHere}</p>`}
        ${!history.hasStart && oldest !== undefined && html`
          <p class="note">${texts.intervalsSince(dayAndTime(oldest))}</p>
          <button type="button" disabled=${reads} onClick=${readOn}>${reads ? texts.reading : texts.readOn}</button>
        `}
        ${room.membership?.state === "in" && room.info !== undefined && html`<${Leave} room=${room} act=${act} />`}
      </div>
    </aside>
  `;
}
