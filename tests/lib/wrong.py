"""Makes wrong request bodies from a right one and the description: every member, at any depth,
absent, null, of another type, out of range, empty, too long, or there twice."""

import copy
import dataclasses
import functools
import json
import typing

from firn_client import resolve

TOO_LONG = "x" * (1 << 20) + "x"  # a string takes 1 MiB at most
OTHER_TYPES = {"string": "word", "integer": 7, "boolean": True, "array": [], "object": {}}
TEXT_OF = {"2^63": str(2**63), "-2^63-1": str(-2**63 - 1), "1e400": "1e400", "10^400": "1" + "0" * 400}


class Text(str):
    """JSON that is written as it stands."""


class Twice(dict):
    """An object whose member `again` comes a second time at the end."""

    again = None


@dataclasses.dataclass(frozen=True)
class Wrong:
    pointer: str  # of what is wrong; of an absent member, where it should be
    what: str
    body: typing.Any

    def text(self):
        return dump(self.body).encode()


def dump(value):
    if isinstance(value, Text):
        return str(value)
    if isinstance(value, dict):
        members = [f"{json.dumps(k)}:{dump(v)}" for k, v in value.items()]
        if isinstance(value, Twice):
            members.append(f"{json.dumps(value.again)}:{dump(value[value.again])}")
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(dump, value)) + "]"
    return json.dumps(value)


@functools.cache
def _merged(reference):
    return merged(resolve(reference))


def merged(node):
    """A description with its references and allOf folded in."""
    if "$ref" in node:
        return _merged(node["$ref"]) | {k: v for k, v in node.items() if k != "$ref"}
    found = {k: v for k, v in node.items() if k != "allOf"}
    for part in map(merged, node.get("allOf", [])):
        found["properties"] = {**found.get("properties", {}), **part.get("properties", {})}
        found["required"] = [*found.get("required", []), *part.get("required", [])]
        found |= {k: v for k, v in part.items() if k not in ("properties", "required")}
    return found


def chosen(node, value):
    """The alternative of a oneOf or anyOf that a right value belongs to."""
    node = merged(node)
    if "discriminator" in node:
        tag = node["discriminator"]["propertyName"]
        picked = merged({"$ref": node["discriminator"]["mapping"][value[tag]]})
        return picked | {"x-tag": tag}
    if "anyOf" in node and all("$ref" in option for option in node["anyOf"]):
        return next(o for o in map(merged, node["anyOf"]) if value.keys() >= {*o["required"]})
    if "oneOf" not in node:
        return node
    for option in map(merged, node["oneOf"]):
        if isinstance(value, str) and option["type"] == "string":
            return option
        if isinstance(value, dict) and option["type"] == "object" and (
                option["properties"]["type"]["const"] == value["type"]):
            return option
    raise AssertionError(f"no alternative describes {value}")


def put(body, path, value):
    """A copy of the body with another value at the path."""
    if not path:
        return value
    body = copy.copy(body)
    body[path[0]] = put(body[path[0]], path[1:], value)
    return body


def types_of(node):
    found = node.get("type", "string" if "const" in node else [])
    return [found] if isinstance(found, str) else list(found)


def escaped(part):
    return str(part).replace("~", "~0").replace("/", "~1")


class Maker:
    def __init__(self, body):
        self.body = body

    def wrong(self, path, what, value, pointer=None):
        where = "".join("/" + escaped(p) for p in path) if pointer is None else pointer
        return Wrong(where, what, put(self.body, path, value))

    def everything(self, node):
        yield from self.types(node, (), self.body)
        yield from self.inside(node, (), self.body)

    def types(self, node, path, value):
        """Values of every type that is not the member's."""
        types = types_of(node)
        if not types:
            return
        for name, other in OTHER_TYPES.items():
            if name not in types and not (name == "object" and "array" in types and not path):
                yield self.wrong(path, f"{name} instead", other)
        if "integer" in types:
            yield self.wrong(path, "a fraction", 7.5)
            yield self.wrong(path, "a fraction of 0", 7.0)
            yield self.wrong(path, "an integer as text", str(value))
        if "boolean" in types:
            yield self.wrong(path, "0 for false", 0)
            yield self.wrong(path, "false as text", "false")
        if "string" in types and "integer" not in types:
            yield self.wrong(path, "a number", 1.5)

    def ranges(self, node, path):
        if "integer" in types_of(node):
            if node.get("format", "int64") == "int32":
                yield self.wrong(path, "2^31", 2**31)
                yield self.wrong(path, "-2^31-1", -2**31 - 1)
            for what, text in TEXT_OF.items():
                yield self.wrong(path, what, Text(text))
            yield self.wrong(path, "negative", -5)
        if types_of(node) == ["string"]:
            yield self.wrong(path, "empty", "")
            yield self.wrong(path, "too long", TOO_LONG)
            if "enum" in node or "const" in node:
                yield self.wrong(path, "another word", "frobnicate")
        if types_of(node) in (["array"], ["object"]):
            yield self.wrong(path, "empty", [] if types_of(node) == ["array"] else {})

    def inside(self, node, path, value):
        node = chosen(node, value)
        if node.get("x-opaque") and not is_schema(node):
            return
        if isinstance(value, dict):
            yield from self.members(node, path, value)
        elif isinstance(value, list):
            for i, element in enumerate(value):
                yield from self.place(node["items"], (*path, i), element)

    def members(self, node, path, value):
        properties = node.get("properties", {})
        for key in value:
            where = (*path, key)
            twice = Twice(value)
            twice.again = key
            yield self.wrong(path, "twice", twice, pointer="".join("/" + escaped(p) for p in where))
            inner = properties.get(key, node.get("additionalProperties"))
            if not isinstance(inner, dict):
                continue
            optional = key in properties and (
                key not in node.get("required", []) or merged(inner).get("readOnly", False))
            if key in properties and not optional:
                rest = {k: v for k, v in value.items() if k != key}
                named = path if key == node.get("x-tag") else where  # without its tag nothing is known of it
                yield self.wrong(path, "absent", rest, pointer="".join("/" + escaped(p) for p in named))
            yield from self.place(inner, where, value[key], optional=optional, tag=key == node.get("x-tag"))

    def place(self, node, where, value, *, optional=False, tag=False):
        plain = merged(node)
        shape = chosen(node, value) if "oneOf" in plain and "discriminator" not in plain else plain
        if "discriminator" in plain:
            shape = {"type": "object"}
        if tag:
            yield self.wrong(where, "null", None, pointer="".join("/" + escaped(p) for p in where[:-1]))
        elif not optional:  # of an optional member null says that it is absent
            yield self.wrong(where, "null", None)
        types = shape
        if "oneOf" in plain and "discriminator" not in plain:
            types = {"type": ["string", "object"]}
        yield from self.types(types, where, value)
        yield from self.ranges(shape, where)
        yield from self.inside(node, where, value)


def is_schema(node):
    return "identifier-field-ids" in node.get("properties", {})


def all_wrong(body, node, below=""):
    """Every wrong body of a right one; with `below` those that are wrong there or deeper."""
    return [w for w in Maker(body).everything(node) if w.pointer.startswith(below)]
