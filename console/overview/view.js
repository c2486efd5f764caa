// The first screen: is everything kept?
import { html } from "../htm.js";
import { texts } from "../texts.js";
import { Empty, Failure, Loading } from "../ui.js";
import { BalanceLine, Checks } from "./checks.js";
import { Events } from "./events.js";
import { Lanes, LaneTable } from "./lanes.js";
import { useReading } from "./reading.js";
import { Tools } from "./tools.js";
import { Way } from "./way.js";

const Local = ({ seen, isOld, session }) => html`
  <${BalanceLine} balance=${seen.balance} held=${seen.held.at(-1)[1]} isOld=${isOld} />
  <div class="halves">
    <${Way} rates=${seen.rates} balance=${seen.balance} held=${seen.held.at(-1)[1]}
      brokerAway=${seen.status.lanes.main.state === "away"} />
    <${Events} seen=${seen} />
    <${Tools} client=${session.client("chat:write")} accepting=${seen.status.accepting} />
    <${Checks} status=${seen.status} />
  </div>
  <${Lanes} seen=${seen} />
`;

/** On AWS, there are no counts, no logs and no buttons. */
const Status = ({ seen }) => html`
  <div class="halves">
    <${LaneTable} seen=${seen} />
    <div class="side"><${Checks} status=${seen.status} />
      <section><h2>${texts.events}</h2><${Empty} title=${texts.noLogs}>${texts.noLogsHelp}<//></section></div>
  </div>
`;

export default function Overview({ session }) {
  const { seen, error } = useReading(session);
  const isOld = error !== undefined;
  return html`
    ${isOld && html`<${Failure} error=${new Error(texts.stageAway(error.message, seen?.now))} />`}
    ${seen === undefined
      ? !isOld && html`<${Loading} />`
      : html`<div class=${isOld ? "side old" : "side"}>
          ${session.isLocal ? html`<${Local} seen=${seen} isOld=${isOld} session=${session} />` : html`<${Status} seen=${seen} />`}</div>`}
  `;
}
