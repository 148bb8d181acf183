"""What a driver says of itself: name, parameters, requirements. Nothing is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator

from sfcperf import plugins
from sfcperf.drivers.base import Driver
from sfcperf.drivers.conformance.subject import Subject
from sfcperf.workflow.defaults import with_defaults


class Declaration(Subject):
    """Tests of the class itself."""

    def test_it_is_a_driver_that_says_what_it_is(self) -> None:
        """`name` is that of the entry point, `title` one line."""
        found = self.driver_class()
        assert issubclass(found, Driver)
        assert found.title.strip() and "\n" not in found.title
        assert (found.__doc__ or "").strip(), "its docstring is what `sfcperf show driver` prints"
        if ":" not in self.driver:
            assert found.name == self.driver
            assert self.driver in plugins.names("driver")

    def test_its_parameters_are_a_whole_schema(self) -> None:
        """Each property is described, defaults fit, and unknown keys are refused."""
        schema = self.driver_class().parameters
        Draft202012Validator.check_schema(schema)
        assert schema.get("type") == "object"
        for place, part in _objects(schema, ""):
            # A map of names to values says by a schema what the values are.
            others = part.get("additionalProperties")
            assert others is False or isinstance(others, Mapping), f"{place}: any key is taken"
            for name, value in part.get("properties", {}).items():
                where = f"{place}/{name}"
                assert str(value.get("description", "")).strip(), f"{where} is not described"
                if "default" in value:
                    validator = Draft202012Validator({**value, "$defs": schema.get("$defs", {})})
                    assert list(validator.iter_errors(value["default"])) == [], where

    def test_the_configuration_fits_its_parameters(self) -> None:
        """Also with defaults filled in: that is what the driver gets."""
        schema = self.driver_class().parameters
        for config in (dict(self.config), self.full_config()):
            assert list(Draft202012Validator(schema).iter_errors(config)) == []

    def test_its_requirements_can_be_told_without_a_run(self) -> None:
        """By `doctor`, with this configuration; whoever lacks something is told what to do."""
        needs = self.driver_class().requirements(self.full_config())
        names = [need.name for need in needs]
        assert len(names) == len(set(names)), "each thing is asked for once"
        for need in needs:
            assert need.name.strip() and need.detail.strip()
            assert need.met or need.remedy.strip(), f"{need.name} is missing, and then what?"

    def test_its_requirements_can_be_told_with_defaults_alone(self) -> None:
        """`sfcperf doctor` asks so; what the configuration would have said is then missing."""
        driver = self.driver_class()
        if not driver.parameters.get("required"):
            driver.requirements(with_defaults(driver.parameters, {}))


def _objects(schema: Any, place: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The schema and all in it that describe objects, with the place of each."""
    if not isinstance(schema, Mapping):
        return
    if schema.get("type") == "object" or "properties" in schema:
        yield place, schema
    for name, value in schema.get("properties", {}).items():
        yield from _objects(value, f"{place}/{name}")
    for key in ("items", "additionalProperties"):
        yield from _objects(schema.get(key), f"{place}/{key}")
    for key in ("oneOf", "anyOf", "allOf"):
        for value in schema.get(key, ()):
            yield from _objects(value, place)
