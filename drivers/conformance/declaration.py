"""What a driver declares: name, parameters, requirements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator

from sfcperf import plugins
from sfcperf.drivers.base import Driver
from sfcperf.drivers.conformance.driver_under_test import DriverUnderTest
from sfcperf.workflow.defaults import with_defaults


class Declaration(DriverUnderTest):
    """Tests of the class itself."""

    def test_it_declares_a_driver(self) -> None:
        """`name` is that of the entry point, `title` one line."""
        found = self.driver_class()
        assert issubclass(found, Driver)
        assert found.title.strip() and "\n" not in found.title
        assert (found.__doc__ or "").strip(), "`sfcperf show driver` prints its docstring"
        # Only a driver that is named by its entry point must have one.
        if ":" not in self.driver:
            assert found.name == self.driver
            assert self.driver in plugins.names("driver")

    def test_its_parameters_are_a_complete_schema(self) -> None:
        """Each property is described, defaults fit, and unknown keys are refused."""
        schema = self.driver_class().parameters
        Draft202012Validator.check_schema(schema)
        assert schema.get("type") == "object"
        for place, part in _objects(schema, ""):
            # In a map of names to values, `additionalProperties` is the schema of the values.
            others = part.get("additionalProperties")
            assert others is False or isinstance(others, Mapping), f"{place}: not closed"
            for name, value in part.get("properties", {}).items():
                where = f"{place}/{name}"
                assert str(value.get("description", "")).strip(), f"{where} is not described"
                if "default" in value:
                    validator = Draft202012Validator({**value, "$defs": schema.get("$defs", {})})
                    assert list(validator.iter_errors(value["default"])) == [], where

    def test_the_configuration_fits_its_parameters(self) -> None:
        """The `config` of the test class fits the schema, also with defaults filled in, as the
        driver gets it."""
        schema = self.driver_class().parameters
        for config in (dict(self.config), self.full_config()):
            assert list(Draft202012Validator(schema).iter_errors(config)) == []

    def test_requirements_work_without_a_run(self) -> None:
        """`requirements` works as `sfcperf doctor` calls it, with this configuration; unmet
        requirements have a remedy."""
        needs = self.driver_class().requirements(self.full_config())
        names = [need.name for need in needs]
        assert len(names) == len(set(names)), "a requirement is there twice"
        for need in needs:
            assert need.name.strip() and need.detail.strip()
            assert need.met or need.remedy.strip(), f"{need.name} has no remedy"

    def test_requirements_work_with_defaults_alone(self) -> None:
        """`requirements` works as `sfcperf doctor` calls it without a configuration, unless the
        driver demands one."""
        driver = self.driver_class()
        if not driver.parameters.get("required"):
            driver.requirements(with_defaults(driver.parameters, {}))


def _objects(schema: Any, place: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each part of the schema that describes an object, the schema itself included, with its
    place, a path of property names (`/hosts`). `schema` may be no mapping, such as None for a key
    that is absent: then there are none."""
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
