// Messages of a window: how many, over time, by whom and where.
import { html, useEffect, useState } from "../htm.js";
import { at } from "../texts.js";
import { Empty, useLoad } from "../ui.js";
import { Answer, Figure, Known, Series, TopTable, uniqueWords } from "./parts.js";
import { Picker } from "./picker.js";
import { texts } from "./texts.js";
import { address, bounds, stepOf, windowOf } from "./window.js";

const TOP = 10;

/** The filter of the parts of an address: ["room", "lobby", "user", "alice"]. */
function filterOf([name, value, ...rest]) {
  const others = name === undefined ? {} : filterOf(rest);
  return { room: { roomId: value, ...others }, user: { userId: value, ...others } }[name] ?? others;
}

function partsOf({ roomId, userId }) {
  return [...(roomId ? ["room", roomId] : []), ...(userId ? ["user", userId] : [])];
}

function Filter({ filter, choose }) {
  const [roomId, setRoom] = useState(filter.roomId ?? "");
  const [userId, setUser] = useState(filter.userId ?? "");
  useEffect(() => {
    setRoom(filter.roomId ?? "");
    setUser(filter.userId ?? "");
  }, [filter.roomId, filter.userId]);
  const apply = (event) => {
    event.preventDefault();
    choose({ roomId: roomId.trim(), userId: userId.trim() });
  };
  return html`
    <form class="filter" onSubmit=${apply} aria-label=${texts.filter}>
      <label><span>${texts.room}</span>
        <input value=${roomId} placeholder=${texts.all} maxlength="128" onInput=${(event) => setRoom(event.currentTarget.value)} /></label>
      <label><span>${texts.user}</span>
        <input value=${userId} placeholder=${texts.all} maxlength="128" onInput=${(event) => setUser(event.currentTarget.value)} /></label>
      <button>${texts.apply}</button>
      ${partsOf(filter).length > 0 && html`<button type="button" onClick=${() => choose({})}>${texts.clear}</button>`}
    </form>
  `;
}

function Found({ window, series, filter, here, found }) {
  if (window.totalMessages === 0) {
    return html`
      <${Empty} title=${texts.noMessages}>${texts.nothingBetween(at(window.window.from), at(window.window.to))}<//>
      <${Known} answer=${window} asking=${found.loading} again=${found.again} />
    `;
  }
  const { accuracy, messagesPerSecond, active } = window;
  return html`
    <dl class="figures">
      <${Figure} name=${texts.figures.messages} value=${window.totalMessages} words=${texts.exact} />
      <${Figure} name=${texts.figures.users} value=${window.uniqueUsers} words=${uniqueWords(accuracy, "userId")} />
      <${Figure} name=${texts.figures.rate} value=${texts.rate(messagesPerSecond.window)}
        words=${texts.activeRate(texts.rate(messagesPerSecond.active))} />
      <${Figure} name=${texts.figures.active} value=${at(active.from)} words=${texts.activeUntil(at(active.to))} />
    </dl>
    <${Known} answer=${window} asking=${found.loading} again=${found.again} />
    <${Series} answer=${series} names=${["messages", "uniqueUsers"]} />
    <div class="tops">
      <${TopTable} caption=${texts.topUsers} rows=${window.topUsers} name="userId" of="messages" accuracy=${accuracy}
        href=${(userId) => here({ ...filter, userId })} />
      <${TopTable} caption=${texts.topRooms} rows=${window.topRooms} name="roomId" of="messages" accuracy=${accuracy}
        href=${(roomId) => here({ ...filter, roomId })} />
    </div>
  `;
}

export function Messages({ client, path }) {
  const [window, rest] = windowOf(path);
  const filter = filterOf(rest);
  const here = (wanted, other = window) => address("messages", other, ...partsOf(wanted));
  const found = useLoad(async () => {
    const query = { ...bounds(window), ...filter };
    const [whole, series] = await Promise.all([
      client.request("GET /analytics/window", { ...query, top: TOP }),
      client.request("GET /analytics/series", { ...query, step: stepOf(query) }),
    ]);
    return { whole, series };
  }, [path.join("/")]);
  return html`
    <section aria-labelledby="messages-title">
      <h2 id="messages-title">${texts.messagesTitle}</h2>
      <${Picker} window=${window} choose=${(other) => { location.hash = here(filter, other); }} />
      <${Filter} filter=${filter} choose=${(wanted) => { location.hash = here(wanted); }} />
      <${Answer} of=${found}>
        ${({ whole, series }) => html`<${Found} window=${whole} series=${series} filter=${filter} here=${here} found=${found} />`}
      <//>
    </section>
  `;
}
