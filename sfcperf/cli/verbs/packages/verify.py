"""`sfcperf verify PACKAGE`: check a package without executing anything in it."""

from __future__ import annotations

from typing import Annotated

import typer

from sfcperf.cli.arguments import json_option
from sfcperf.cli.packaging import (
    AllowedSignersOption,
    MaxBytesOption,
    PackageArgument,
    PublicKeyOption,
)
from sfcperf.package.layout import MAX_BYTES


def verify(
    package: PackageArgument,
    allowed_signers: AllowedSignersOption = None,
    public_key: PublicKeyOption = None,
    max_bytes: MaxBytesOption = MAX_BYTES,
    json_: Annotated[bool, json_option("Print the checks as JSON.")] = False,
) -> None:
    """Check that a package is unchanged and consistent. Checks hashes, the signature, the
    documents and whether they agree, and that summaries, verdicts on claims and figures follow
    from the trials. Lists each claim with its verdict.
    Names the files that are only hashed. Executes nothing in the package.

    Exit code: 0 all checks pass, 1 a check fails, 2 not a package, or a malicious one, 3 the
    environment lacks something.
    """
    import json

    from sfcperf.cli.packaging import print_verification
    from sfcperf.package.verify import verify_limited as check

    verification = check(
        package,
        allowed_signers=allowed_signers,
        public_key=public_key,
        max_bytes=max_bytes,
    )
    if json_:
        print(json.dumps(verification.document(), indent=2))
    else:
        print_verification(verification)
    raise typer.Exit(0 if verification.holds else 1)
