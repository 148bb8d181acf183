"""What is written to a switch: the differences, in an order that loses no packet."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.sfcmon.controller_states import two_switches
from support.tiers import examples

from sfcperf.vnfs.sfcmon.controller.entries import Entry, entries
from sfcperf.vnfs.sfcmon.controller.model import State
from sfcperf.vnfs.sfcmon.controller.tables import Phase, applied, of_p4, to_p4, updates


@st.composite
def tables(draw: st.DrawFn) -> list[Entry]:
    """Entries with few keys, so that two of them often have the same."""
    made = draw(
        st.lists(
            st.builds(
                Entry,
                table=st.sampled_from(["rules", "paths", "mtus"]),
                key=st.integers(0, 3).map(lambda port: (("port", port),)),
                action=st.sampled_from(["one", "two"]),
                parameters=st.just(()),
                priority=st.integers(0, 1),
            ),
            unique_by=lambda entry: entry.identity,
        )
    )
    node = draw(st.booleans())
    return made + ([Entry("node", (), "set_node", (("mac", draw(st.integers(1, 3))),))] * node)


@examples(300)
@given(tables(), tables())
def test_after_all_phases_the_switch_has_what_is_wanted(actual: list[Entry], wanted: list[Entry]):
    for phase in Phase:
        written = updates(phase, actual, wanted)
        # P4Runtime refuses to insert what is there, and to change or delete what is not.
        identities = {entry.identity for entry in actual}
        defaults = {entry.identity for entry in written.modify if entry.table == "node"}
        assert identities.isdisjoint(entry.identity for entry in written.insert)
        assert identities | defaults >= {entry.identity for entry in written.modify}
        assert identities >= {entry.identity for entry in written.delete}
        # While rules change, each entry is there that the old or the new ones need.
        if phase is Phase.CLASSIFY:
            others = [entry for entry in wanted if entry.table != "rules"]
            assert {entry.identity for entry in others} <= identities
        actual = applied(actual, written)
    kept = {entry for entry in actual if entry.table == "node"}
    assert set(actual) - kept == {entry for entry in wanted if entry.table != "node"}
    if any(entry.table == "node" for entry in wanted):
        assert kept <= set(wanted)


@examples(100)
@given(tables())
def test_a_switch_that_has_all_is_left_alone(wanted: list[Entry]):
    for phase in Phase:
        written = updates(phase, wanted, wanted)
        assert not (written.insert or written.modify or written.delete)


def test_entries_survive_finsy():
    for wanted in entries(State.model_validate(two_switches())).values():
        assert [of_p4(to_p4(entry)) for entry in wanted] == wanted


def test_a_default_action_that_was_never_set_is_no_entry():
    unset = Entry("node", (), "set_node", (("address", 0), ("mac", 0)))
    assert of_p4(to_p4(unset)) is None
