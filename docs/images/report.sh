#!/bin/sh
# The picture of the first page is the top of a report: report.sh [RUN]
#
# Without a RUN, it runs report.json, which takes a minute and root. Needs Chromium.
set -eu
cd "$(dirname "$0")/../.."

run=${1:-$(.venv/bin/sfcperf run --quiet docs/images/report.json)}
shoot() {
    chromium --headless --no-sandbox --hide-scrollbars --window-size=1100,800 \
        --blink-settings=preferredColorScheme="$2" --screenshot="docs/images/report-$1.png" \
        "file://$PWD/$run/report.html" 2>/dev/null
    # A third of the bytes, with no difference to be seen.
    .venv/bin/python -c 'import sys; from PIL import Image
Image.open(sys.argv[1]).convert("RGB").quantize(64).save(sys.argv[1], optimize=True)' \
        "docs/images/report-$1.png"
}
shoot light 1
shoot dark 0
echo "$run"
