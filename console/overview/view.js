// The first screen: is everything kept?
import { html } from "../htm.js";
import { texts } from "../texts.js";
import { Failure, Loading } from "../ui.js";
import { BalanceLine, Checks } from "./checks.js";
import { Events } from "./events.js";
import { Lanes, LaneTable } from "./lanes.js";
import { useReading } from "./reading.js";
import { Tools } from "./tools.js";
import { Way } from "./way.js";

const Local = ({ seen, session }) => html`
  <${BalanceLine} balance=${seen.balance} held=${seen.held.at(-1)[1]} />
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
    <div class="side"><${Checks} status=${seen.status} /><${Events} seen=${seen} /></div>
  </div>
`;

export default function Overview({ session }) {
  const { seen, error } = useReading(session);
  return html`
    ${error !== undefined && html`<${Failure} error=${new Error(texts.stageAway(error.message))} />`}
    ${seen === undefined && html`<${Loading} />`}
    ${seen !== undefined && (session.isLocal ? html`<${Local} seen=${seen} session=${session} />` : html`<${Status} seen=${seen} />`)}
  `;
}
