// The first screen: is everything kept?
import { html } from "../htm.js";
import { texts } from "../texts.js";
import { Loading } from "../ui.js";
import { BalanceLine, Checks, Lanes, Rates } from "./checks.js";
import { Pane } from "./pane.js";
import { useReading } from "./reading.js";
import { Tools } from "./tools.js";
import { Way } from "./way.js";

const ROOM = "lobby";

export default function Overview({ session }) {
  const { seen, failure } = useReading(session);
  const chat = (user) => session.as(user, "chat:read", "chat:write");
  return html`
    ${failure !== undefined && html`<p class="failure" role="alert">${texts.stageAway(failure)}</p>`}
    ${seen === undefined
      ? html`<${Loading} />`
      : html`
          <${BalanceLine} balance=${seen.balance} />
          <${Way} rates=${seen.rates} balance=${seen.balance} held=${seen.held}
            brokerAway=${seen.status.lanes.main.state === "away"} />
        `}
    <div class="panes">
      <${Pane} client=${chat("alice")} user="alice" room=${ROOM} />
      <${Pane} client=${chat("bob")} user="bob" room=${ROOM} />
      <${Tools} client=${chat("carol")} />
    </div>
    ${seen !== undefined && html`
      <div class="details">
        <${Rates} history=${seen.history} />
        <${Lanes} status=${seen.status} waitSeconds=${seen.waitSeconds} since=${seen.since} now=${seen.now} />
        <${Checks} status=${seen.status} />
      </div>
    `}
  `;
}
