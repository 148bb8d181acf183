"""Judge an RO-Crate with rocrate-validator, without network: a process of its own, since it needs
an older rich than SFCPerf's other tools.

    python crate_judge.py CRATE.zip CONTEXT.json REQUIRED|RECOMMENDED

`CONTEXT.json`: what the address of RO-Crate's context answers. Prints each issue as a line: its
severity, and its message.
"""

import sys
from pathlib import Path

import requests
import requests.adapters

CONTEXT = "https://w3id.org/ro/crate/1.1/context"
PROFILE = "process-run-crate-0.5"


def _answer(_: object, request: requests.PreparedRequest, **__: object) -> requests.Response:
    """Stands in for the network."""
    if request.url != CONTEXT:
        raise requests.ConnectionError(f"no network for {request.url}")
    response = requests.Response()
    response.status_code, response.url, response.request = 200, CONTEXT, request
    response.headers["Content-Type"] = "application/ld+json"
    response._content = Path(sys.argv[2]).read_bytes()
    return response


def main() -> None:
    from rocrate_validator import models, services

    requests.adapters.HTTPAdapter.send = _answer
    settings = services.ValidationSettings(
        rocrate_uri=sys.argv[1],
        profile_identifier=PROFILE,
        requirement_severity=models.Severity[sys.argv[3]],
        no_cache=True,
    )
    for issue in services.validate(settings).get_issues():
        print(issue.severity.name, issue.message)


if __name__ == "__main__":
    main()
