#!/usr/bin/env python3
"""Content hashes of PROCESS.md files, computed without any of the project's code: one line `<hash>  <file>` each.

SHA-256 over the RFC 8785 form of the frontmatter, one newline, then the body as written (§6.5, HASH-INPUT). ruamel.yaml
reads the syntax; what a plain scalar means under the core schema of YAML 1.2 is decided here.
"""

import hashlib
import json
import math
import re
import sys

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

FENCE = re.compile(rb"---[ \t]*\r?\Z")


def split(data):
    """Frontmatter text and body bytes."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    lines = data.split(b"\n")
    if not FENCE.match(lines[0]):
        raise ValueError("the file must start with ---")
    for n, line in enumerate(lines[1:], 1):
        if FENCE.match(line):
            return b"\n".join(lines[1:n]).decode("utf-8"), b"\n".join(lines[n + 1 :])
    raise ValueError("no closing ---")


def plain(text):
    """The value of a plain scalar under the core schema (YAML 1.2.2 §10.3.2)."""
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text in ("true", "True", "TRUE"):
        return True
    if text in ("false", "False", "FALSE"):
        return False
    if re.fullmatch(r"[-+]?[0-9]+", text):
        return int(text)
    if re.fullmatch(r"0o[0-7]+", text):
        return int(text[2:], 8)
    if re.fullmatch(r"0x[0-9a-fA-F]+", text):
        return int(text[2:], 16)
    if re.fullmatch(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", text):
        return float(text)
    return text


def value(node):
    """The JSON value of a YAML node."""
    if isinstance(node, ScalarNode):
        return plain(node.value) if node.style is None else node.value
    if isinstance(node, SequenceNode):
        return [value(n) for n in node.value]
    assert isinstance(node, MappingNode)
    out = {}
    for key, val in node.value:
        key = value(key)
        assert isinstance(key, str) and key not in out, key
        out[key] = value(val)
    return out


def number(n):
    """A number as ECMAScript prints it (RFC 8785 §3.2.2.3)."""
    n = float(n)
    assert math.isfinite(n)
    if n == int(n) and abs(n) < 1e21:
        return str(int(n))
    mantissa, _, exponent = repr(n).partition("e")
    if not exponent:
        return mantissa
    if -7 < int(exponent) < 0:
        return format(n, f".{len(mantissa.replace('.', '').lstrip('-')) - 1 - int(exponent)}f")
    return f"{mantissa}e{int(exponent):+d}"


def canonical(v):
    """The RFC 8785 form."""
    if v is None or isinstance(v, (bool, str)):
        return json.dumps(v, ensure_ascii=False)
    if isinstance(v, (int, float)):
        return number(v)
    if isinstance(v, list):
        return "[" + ",".join(map(canonical, v)) + "]"
    keys = sorted(v, key=lambda k: k.encode("utf-16-be"))
    return "{" + ",".join(canonical(k) + ":" + canonical(v[k]) for k in keys) + "}"


def content_hash(data):
    """The hash of a file's bytes, in hex."""
    front, body = split(data)
    root = value(YAML(typ="rt", pure=True).compose(front))
    return hashlib.sha256(canonical(root).encode("utf-8") + b"\n" + body).hexdigest()


if __name__ == "__main__":
    for path in sys.argv[1:]:
        with open(path, "rb") as file:
            print(f"{content_hash(file.read())}  {path}")
