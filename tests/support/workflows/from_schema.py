"""Values that fit a JSON schema, for property tests: the keywords that our own schemas use.

(hypothesis-jsonschema reaches into internals of hypothesis that newer versions do not have.)
"""

from __future__ import annotations

import re
from typing import Any

from hypothesis import strategies as st

Schema = dict[str, Any]


def from_schema(schema: Schema, root: Schema, known_names: list[str]) -> st.SearchStrategy[Any]:
    """Values for a schema whose references start at `root`; names are often known ones."""

    def build(schema: Schema) -> st.SearchStrategy[Any]:
        schema = followed(schema, root)
        if "const" in schema:
            return st.just(schema["const"])
        if "enum" in schema:
            return st.sampled_from(schema["enum"])
        for choice in ("oneOf", "anyOf"):
            if choice in schema:
                return st.one_of([build(option) for option in schema[choice]])
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        return st.one_of([builders[kind](schema) for kind in kinds])

    def text(schema: Schema) -> st.SearchStrategy[str]:
        if schema.get("format") == "ipv4":
            return st.ip_addresses(v=4).map(str)
        longest = min(schema.get("maxLength", 20), 20)
        if "pattern" in schema:
            pattern = re.compile(schema["pattern"].replace("$", r"\Z"))
            matching = st.from_regex(pattern).filter(lambda t: len(t) <= longest)
            return st.sampled_from(known_names) | matching if "-" in schema["pattern"] else matching
        plain = st.characters(codec="ascii", categories=["L", "N", "P"])
        return st.text(plain, min_size=schema.get("minLength", 0), max_size=longest)

    def array(schema: Schema) -> st.SearchStrategy[Any]:
        least, most = schema.get("minItems", 0), schema.get("maxItems", 4)
        return st.lists(build(schema["items"]), min_size=least, max_size=min(most, least + 3))

    @st.composite
    def compound(draw: st.DrawFn, schema: Schema) -> dict[str, Any]:
        properties = dict(schema.get("properties", {}))
        required = set(schema.get("required", ()))
        if schema.get("allOf"):
            choice = draw(st.sampled_from(schema["allOf"]))
            then = followed(choice["then"], root)
            properties |= then.get("properties", {}) | choice["if"]["properties"]
            required |= set(then.get("required", ()))
        optional = sorted(properties.keys() - required)
        chosen = draw(st.sets(st.sampled_from(optional))) if optional else set()
        result = {key: draw(build(properties[key])) for key in sorted(required | chosen)}
        more = schema.get("additionalProperties")
        if isinstance(more, dict):
            names = build(schema.get("propertyNames", {"type": "string"}))
            result |= draw(st.dictionaries(names, build(more), min_size=1, max_size=3))
        return result

    def integer(schema: Schema) -> st.SearchStrategy[int]:
        return st.integers(schema.get("minimum", 0), schema.get("maximum", 10**6))

    def number(schema: Schema) -> st.SearchStrategy[float]:
        least = schema.get("minimum", schema.get("exclusiveMinimum", 0))
        return st.floats(
            least, schema.get("maximum", 10**6), exclude_min="exclusiveMinimum" in schema
        )

    builders = {
        "object": compound,
        "array": array,
        "string": text,
        "integer": integer,
        "number": number,
        "boolean": lambda _: st.booleans(),
        "null": lambda _: st.none(),
    }
    return build(schema)


def followed(schema: Schema, root: Schema) -> Schema:
    """The schema behind local references, with the keys beside them."""
    while "$ref" in schema:
        target = root
        for part in schema["$ref"].split("/")[1:]:
            target = target[part]
        schema = {**target, **{key: item for key, item in schema.items() if key != "$ref"}}
    return schema
