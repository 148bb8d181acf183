"""Two runs at once: neither notices the other."""

from __future__ import annotations

from sfcperf.drivers.conformance import traffic
from sfcperf.drivers.conformance.bench import Bench
from sfcperf.drivers.conformance.subject import Subject


class Together(Subject):
    """Tests with two drivers; in one process, as in a run whose variants configure them apart."""

    def test_two_drivers_do_not_meet(self) -> None:
        """Packets of one chain do not cross the other, and its end does not end the other."""
        scenario = self.chain(1)
        first = self.bench
        one = first.standing(scenario)
        second = Bench(self.driver_class(), self.full_config())
        try:
            two = second.standing(scenario)
            assert first.driver.prove_traversal(one, scenario).proven
            assert second.driver.prove_traversal(two, scenario).proven
            before = traffic.forwarded(two)
            assert traffic.ping(one.client, one.server, self.pings) == self.pings
            assert traffic.rise(before, traffic.forwarded(two))[two.functions[0].name] < self.pings
            first.close()
            assert self.traces(first.tag) == []
            assert second.driver.problems(two) == []
            assert second.driver.prove_traversal(two, scenario).proven
            second.close()
            for bench in (first, second):
                assert bench.journal.outstanding() == []
                assert bench.still_there() == []
            assert self.traces(second.tag) == []
        finally:
            second.remove()
            type(self).teardown_class()
