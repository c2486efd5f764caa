"""The console is off by default, private behind CloudFront, and strict about what its pages load."""

from __future__ import annotations

from localstage.console import pages
from localstage.template.document import parse
from tests.unit.template_stack import ROOT

PATH = ROOT / "templates" / "console.yaml"
NESTED = parse(PATH.read_text(), PATH)


def test_the_pages_have_the_policy_of_the_local_stage() -> None:
    config = NESTED["Resources"]["Headers"]["Properties"]["ResponseHeadersPolicyConfig"]
    written = config["SecurityHeadersConfig"]["ContentSecurityPolicy"]["ContentSecurityPolicy"]["Fn::Sub"]

    assert written == pages.policy("${HttpUrl}", "${SignInUrls}")
