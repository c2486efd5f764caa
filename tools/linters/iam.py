"""Checks the policies in a folder with parliament: the actions, the resources that they take, and their conditions.

It runs in parliament's environment, and imports nothing else.
"""

from __future__ import annotations

import sys
from pathlib import Path

import parliament  # type: ignore[import-not-found]

EXCEPTIONS = {
    # AWS documents it for every call that the code of a function makes, but parliament's list does not have it:
    # https://docs.aws.amazon.com/lambda/latest/dg/permissions-source-function-arn.html
    ("FunctionLimitsPolicy", "UNKNOWN_CONDITION_FOR_ACTION"),
    # EC2 takes no narrower resource for the network interfaces of a mapping.
    ("MappingPolicy", "RESOURCE_STAR"),
    # SAM's own policy for reading a stream (DynamoDBStreamReadPolicy) names the stream for this action too.
    ("ArchiveEventsRole", "RESOURCE_MISMATCH"),
    ("TellOthersRole", "RESOURCE_MISMATCH"),
    # The endpoints of a mapping must allow every resource: https://docs.aws.amazon.com/lambda/latest/dg/with-mq.html
    ("LambdaEndpoint", "RESOURCE_STAR"),
    ("StsEndpoint", "RESOURCE_STAR"),
}


def main(folder: Path) -> int:
    """Print what was found; 1 if it was anything."""
    found, excepted, files = 0, set(), sorted(folder.iterdir())
    for file in files:
        name = file.name.split(".")[0]
        for finding in parliament.analyze_policy_string(file.read_text(), file.name).findings:
            if (name, finding.issue) in EXCEPTIONS:
                excepted.add((name, finding.issue))
                continue
            found += 1
            print(f"{name}: {finding.issue}: {finding.detail}")
    for name, issue in sorted(EXCEPTIONS - excepted):
        print(f"{name}: {issue} is not found any more: take it out of EXCEPTIONS")
    print(f"parliament: {len(files)} policies, {found} findings, {len(excepted)} exceptions")
    return int(found > 0 or excepted != EXCEPTIONS)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
