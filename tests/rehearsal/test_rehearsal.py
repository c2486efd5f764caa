"""The template is deployed to an emulated account as to AWS, and every function answers under its own role."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import boto3
import pytest
import urllib3

from rehearsal import steps
from rehearsal.cloud import ROOT
from tests.unit.template.test_deploy_role import RIGHTS, lacking
from tests.worlds.pages import Player

pytestmark = pytest.mark.timeout(900)

PAGE = ROOT / "docs" / "how-to" / "deploy.md"
USED = "## Your first message\n"
"""The part of the page that uses what the part before it has deployed."""
PAGE_SECONDS = 800
"""For both parts of the page."""
OF_THE_REHEARSAL = (
    "cloudwatch:SetAlarmState",
    "cognito-idp:Admin*",
    "dynamodb:ListTables",
    "execute-api:Invoke",
    "iam:List*",
)
OF_THE_REHEARSAL += ("lambda:InvokeFunction", "lambda:ListFunctions", "sqs:ListQueues", "sqs:*Message")
"""What a deployment does not do: users, events, and whether anything is left."""


@pytest.fixture
async def rehearsal() -> AsyncIterator[steps.Rehearsal]:
    """An empty account."""
    async with steps.rehearsal(print, ROOT / ".local" / "rehearsal") as stage:
        yield stage


class Reader(Player):
    """Follows a page with an AWS account. A browser is the only thing that it does otherwise."""

    def give(self, name: str, terminal: str) -> str:
        """The code of the sign-in of a terminal's user, or the token that Bob's terminal prints."""
        if name == "CODE":
            page = re.findall(r"^http\S+/oauth2/authorize\S+", self.terminal(terminal).text(), re.M)[-1]
            (password,) = re.findall(r"^\S+aA1$", self.terminal("alice").text(), re.M)
            return f"CODE={sign_in(page, terminal, password)}"
        assert name == "FRIEND_TOKEN"
        self.run("bob", 'echo "$TOKEN"\n', repeated=False)
        return f"FRIEND_TOKEN={self.terminal('bob').text().splitlines()[-2]}"


def sign_in(page: str, username: str, password: str) -> str:
    """Open the address of a sign-in page and send its form; the code in the address that follows."""
    browser = urllib3.PoolManager()
    shown = browser.request("GET", page, redirect=False)
    assert shown.status == 200, shown.data
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', shown.data.decode()))
    fields |= {"username": username, "password": password}
    address = re.sub(r"/oauth2/.*", "/login", page)
    answer = browser.request_encode_body("POST", address, fields=fields, encode_multipart=False, redirect=False)
    assert answer.status == 302, answer.data
    back = urlsplit(answer.headers["location"])
    wanted = parse_qs(urlsplit(page).query)["redirect_uri"]
    assert [back._replace(query="").geturl()] == wanted
    return dict(parse_qsl(back.query))["code"]


def ring(rehearsal: steps.Rehearsal) -> None:
    """PipelineAlarm follows one of its alarms. The emulator does not judge metrics, so the state is set."""
    variables = rehearsal.sam.variables
    session = boto3.session.Session(
        variables["AWS_ACCESS_KEY_ID"], variables["AWS_SECRET_ACCESS_KEY"], region_name=variables["AWS_DEFAULT_REGION"]
    )
    cloudwatch: Any = session.client("cloudwatch", endpoint_url=variables["AWS_ENDPOINT_URL"])
    names = [one["AlarmName"] for one in cloudwatch.describe_alarms()["MetricAlarms"]]
    (probes,) = [name for name in names if "-ProbesAlarm-" in name]
    states = []
    for state in ("OK", "ALARM", "OK"):
        cloudwatch.set_alarm_state(AlarmName=probes, StateValue=state, StateReason="rehearsed")
        (pipeline,) = cloudwatch.describe_alarms(AlarmTypes=["CompositeAlarm"])["CompositeAlarms"]
        states.append(pipeline["StateValue"])

    slow = [name for name in names if "LatencyAlarm-" in name]
    for name in slow:
        cloudwatch.set_alarm_state(AlarmName=name, StateValue="ALARM", StateReason="rehearsed")
    ringing = cloudwatch.describe_alarms(StateValue="ALARM", AlarmTypes=["MetricAlarm"])["MetricAlarms"]

    assert states == ["OK", "ALARM", "OK"]
    assert (len(slow), {*slow} - {one["AlarmName"] for one in ringing}) == (4, set())
    assert {name.split("-")[-2] for name in names} >= {"ProbesAlarm", "MaintenanceAlarm", "TopologyErrorsAlarm"}


async def test_dev_deploys_as_the_page_says_answers_every_event_and_is_deleted(
    rehearsal: steps.Rehearsal, tmp_path: Path
) -> None:
    """One test, because a deployment takes long."""
    deploying, using = PAGE.read_text().split(USED)
    deadline = time.monotonic() + PAGE_SECONDS

    async def follow(text: str, name: str) -> None:
        (tmp_path / name).mkdir()
        left = deadline - time.monotonic()
        reader = Reader(rehearsal.sam.folder, rehearsal.sam.environment, tmp_path / name, True, left)
        await asyncio.to_thread(reader.play_page, text)

    await follow(deploying, "deploying")
    async with rehearsal.reading("dev"):
        await follow(using, "using")
    await rehearsal.send_events("dev")
    await asyncio.to_thread(ring, rehearsal)

    await rehearsal.delete("dev")
    calls = [json.loads(line) for line in rehearsal.account.decisions.read_text().splitlines()]
    asked = {each["action"] for each in calls if each["who"].endswith(":root")}
    assert lacking(asked, [*RIGHTS, *OF_THE_REHEARSAL]) == set()
