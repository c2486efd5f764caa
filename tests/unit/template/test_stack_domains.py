"""Own names of the APIs are in the outputs, from which doctor and the console have them."""

from __future__ import annotations

from typing import Any

from localstage.template import Attributes, parameters
from localstage.template.document import parse
from localstage.template.intrinsics import Resolver
from tests.unit.localstage.template.template_stage import LIVE
from tests.unit.template_stack import ROOT, TemplateStack

OWN = {
    "HttpDomain": "api.example.com",
    "WebSocketDomain": "live.example.com",
    "DomainCertificateArn": "arn:aws:acm:us-east-1:123456789012:certificate/1-2",
    "DomainZoneId": "Z0123",
}


def test_clients_doctor_and_console_are_given_the_own_names(template_stack: TemplateStack) -> None:
    document = template_stack.document
    values = parameters.values(document["Parameters"], OWN)
    found, outputs = Resolver(document, values, Attributes(LIVE), "us-east-1"), document["Outputs"]

    assert found.value(outputs["HttpUrl"]["Value"]) == "https://api.example.com"
    assert found.value(outputs["WebSocketUrl"]["Value"]) == "wss://live.example.com"
    assert outputs["HttpUrl"]["Value"] == document["Resources"]["ConsoleStack"]["Properties"]["Parameters"]["HttpUrl"]


def test_the_names_are_made_only_if_they_are_given(template_stack: TemplateStack) -> None:
    for given in ({}, OWN):
        values = parameters.values(template_stack.document["Parameters"], given)
        found = Resolver(template_stack.document, values, Attributes(LIVE), "us-east-1")

        assert found.exists("Domains") == bool(given)


def test_each_api_has_a_name_a_mapping_and_a_record_of_its_own(template_stack: TemplateStack) -> None:
    """API Gateway maps no WebSocket API to a name of an HTTP API."""
    path = ROOT / "templates" / "domains.yaml"
    resources = parse(path.read_text(), path)["Resources"]
    given: dict[str, Any] = template_stack.resources["Domains"]["Properties"]["Parameters"]

    for api, domain in (("Http", "HttpDomain"), ("WebSocket", "WebSocketDomain")):
        name, mapping, record = (resources[f"{api}{kind}"]["Properties"] for kind in ("Name", "Mapping", "Record"))
        assert name["DomainName"] == record["Name"] == {"Ref": domain}
        assert (mapping["ApiId"], mapping["DomainName"]) == ({"Ref": f"{api}Api"}, {"Ref": f"{api}Name"})
        assert record["AliasTarget"]["DNSName"] == {"Fn::GetAtt": [f"{api}Name", "RegionalDomainName"]}
        assert given[domain] == {"Ref": domain}
    assert given["HttpStage"] == {"Ref": "HttpApiApiGatewayDefaultStage"}
    assert given["WebSocketStage"] == {"Ref": "WebSocketApiStage"}, "the mapping waits for the stage"
