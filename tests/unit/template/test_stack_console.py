"""The console is off by default, private behind CloudFront, and strict about what its pages load."""

from __future__ import annotations

from localstage.console import pages
from localstage.template.document import parse
from tests.unit.template_stack import ROOT, TemplateStack

PATH = ROOT / "templates" / "console.yaml"
NESTED = parse(PATH.read_text(), PATH)


def test_the_console_is_off_by_default_and_needs_the_user_pools(template_stack: TemplateStack) -> None:
    stack = template_stack.resources["ConsoleStack"]

    assert template_stack.parameters["Console"]["Default"] == "off"
    assert stack["Condition"] == "HasConsole"
    assert {"Condition": "MakesUserPool"} in template_stack.conditions["HasConsole"]["Fn::And"]
    assert stack["Properties"]["Parameters"].keys() == NESTED["Parameters"].keys()


def test_only_the_distribution_reads_the_files() -> None:
    resources = NESTED["Resources"]
    allow, deny = resources["FilesPolicy"]["Properties"]["PolicyDocument"]["Statement"]

    assert set(resources["Files"]["Properties"]["PublicAccessBlockConfiguration"].values()) == {True}
    assert (allow["Effect"], allow["Principal"], allow["Action"]) == (
        "Allow",
        {"Service": "cloudfront.amazonaws.com"},
        "s3:GetObject",
    )
    assert "distribution/${Distribution}" in str(allow["Condition"]["StringEquals"]["AWS:SourceArn"])
    assert (deny["Effect"], deny["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})


def test_the_pages_have_the_policy_of_the_local_stage() -> None:
    config = NESTED["Resources"]["Headers"]["Properties"]["ResponseHeadersPolicyConfig"]
    written = config["SecurityHeadersConfig"]["ContentSecurityPolicy"]["ContentSecurityPolicy"]["Fn::Sub"]

    assert written == pages.policy("${HttpUrl}", "${SignInUrls}")
