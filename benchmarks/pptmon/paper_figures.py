"""PPTMon beside the paper's figures: accuracy, and what it costs. Needs root.

    sudo .venv/bin/python benchmarks/pptmon/paper_figures.py [--quick] [PART ...]

The paper (Van Tu et al., CNSM 2020) measured VMs on OpenStack; here the VNF is a namespace that
forwards in the kernel, so that figures are comparable in kind only. Goals are those of this
project. Every figure has its interval of 95 %, and the floor or truth that it is judged by from
the same run.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _pptmon.accuracy import accuracies, choices
from _pptmon.cost import costs
from _pptmon.delays import known_delays
from _pptmon.throughput import throughputs
from _runner import Benchmark, Parameter

if __name__ == "__main__":
    Benchmark(
        __doc__,
        {costs: 1, accuracies: 1, choices: 1, known_delays: 1, throughputs: 800},
        {"quick": Parameter(False, "a fifth of the time, wider intervals")},
    ).main()
