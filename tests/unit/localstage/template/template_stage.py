"""Writes small templates into a folder and loads them."""

import textwrap
from pathlib import Path

from localstage.core.model import StageModel
from localstage.template import Attributes, Live, load

LIVE = Live(
    amqp_url="amqp://127.0.0.1:5672",
    cache_host="127.0.0.1",
    cache_port=6379,
    issuer_url="http://127.0.0.1:9000/issuer",
    dynamodb_url="http://127.0.0.1:8000",
    sqs_url="http://127.0.0.1:8001",
    s3_url="http://127.0.0.1:8004",
    secrets_manager_url="http://127.0.0.1:8002",
    management_url="http://127.0.0.1:9000/live",
)

TABLE = """
Things:
  Type: AWS::DynamoDB::Table
  Properties:
    BillingMode: PAY_PER_REQUEST
    AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
    KeySchema: [{AttributeName: id, KeyType: HASH}]
"""
FUNCTION = """
  Echo:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: code/
      Handler: app.handler
      Runtime: python3.13
"""


class Project:
    """A project folder with one function's code in ``code/``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "code").mkdir()
        (folder / "code" / "app.py").write_text("def handler(event, context): ...\n")

    def load(self, resources: str, *, head: str = "", function: str = FUNCTION, **options) -> StageModel:
        """The model of a template with ``resources`` beside the function; ``head`` goes before Resources."""
        text = "Transform: AWS::Serverless-2016-10-31\n" + textwrap.dedent(head)
        text += "\nResources:" + function + textwrap.indent(textwrap.dedent(resources), "  ")
        return self.load_text(text, **options)

    def load_text(self, text: str, **options) -> StageModel:
        """The model of this whole template."""
        template = self.folder / "template.yaml"
        template.write_text(text)
        return load(template, attributes=Attributes(LIVE), **options)

    def variables(self, *lines: str, head: str = "", resources: str = "", **options) -> dict[str, str]:
        """The environment of a function with these variables, each ``NAME: value``."""
        inside = "".join(f"\n          {line}" for line in lines)
        function = FUNCTION.rstrip() + "\n      Environment:\n        Variables:" + inside + "\n"
        model = self.load(resources, head=head, function=function, **options)
        return dict(model.functions["Echo"].environment)
