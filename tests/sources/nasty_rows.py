"""Rollouts that are hard to read, and a command that says how they were read by the parser that is there."""

import json
import sys
from pathlib import Path
from typing import Any

KEY = b'"_ng_task_index":1,"_ng_rollout_index":2'


def deep(levels: int) -> bytes:
    """A value that makes a row this deep."""
    return b"[" * (levels - 1) + b"]" * (levels - 1)


def row(*members: bytes) -> bytes:
    """A rollout with these members behind its indices."""
    return b"{" + b",".join([KEY, *members]) + b"}"


READABLE = {
    "plain": row(b'"reward":1,"response":{"usage":{"n":2}}'),
    "white space": b' \t{ "_ng_task_index" :\t1 , "_ng_rollout_index":2 ,"a" : [ ] , "m": 1 }\t\r',
    "NaN": row(b'"m":NaN,"n":1'),
    "Infinity": row(b'"m":Infinity,"n":-Infinity,"o":2'),
    "beyond a double": row(b'"m":1e400,"n":-1e400,"o":3'),
    "below a double": row(b'"m":1e-400'),
    "largest double": row(b'"m":1.7976931348623157e308'),
    "63 bits": row(b'"m":9223372036854775807,"n":-9223372036854775808'),
    "64 bits": row(b'"m":9223372036854775808,"n":18446744073709551615'),
    "more than 64 bits": row(b'"m":18446744073709551616,"n":-9223372036854775809'),
    "40 digits": row(b'"m":1234567890123456789012345678901234567890'),
    "400 digits": row(b'"m":' + b"1" * 400 + b',"n":-' + b"1" * 400 + b',"o":1'),
    "5000 digits": row(b'"m":' + b"1" * 5000 + b',"o":1'),
    "5000 digits in a list": row(b'"m":[' + b"1" * 5000 + b'],"o":1'),
    "minus zero": row(b'"m":-0.0,"n":-0'),
    "exponents": row(b'"m":1E5,"n":1e+2,"o":12e-1,"p":0e0'),
    "many digits": row(b'"m":0.1000000000000000055511151231257827021181583404541015625'),
    "booleans": row(b'"m":true,"n":false'),
    "other values": row(b'"m":null,"n":"1","o":[1],"p":{"q":1}'),
    "lone surrogate in a value": row(b'"t":"\\ud800","m":1'),
    "lone surrogate in a text's name": row(b'"\\udc00":"t","m":1'),
    "pair of surrogates": row(b'"\\ud83d\\ude00":1'),
    "lone surrogate and NaN": row(b'"t":"\\ud800","m":NaN,"n":1'),
    "escapes": row(b'"\\u006d":1,"\\"":2,"\\\\":3,"\\n":4,"\\/":5,"\\u0000":6'),
    "other letters": row('"größe":1,"大小":2,"\U0001f600":3,"\u2028":4'.encode()),
    "odd names": row(b'"":1," ":2,"{}":3,"$":4,"a/b":5,"_hidden":6'),
    "metric twice": row(b'"m":1,"m":2'),
    "metric, then text": row(b'"m":1,"n":2,"m":"text"'),
    "text, then metric": row(b'"m":"text","n":2,"m":1'),
    "metric twice and beyond a double": row(b'"m":1e400,"m":2'),
    "indices twice": b'{"_ng_task_index":"x","_ng_rollout_index":9,"_ng_task_index":1,"_ng_rollout_index":2}',
    "response twice": row(b'"response":{"usage":{"n":1}},"response":{"usage":{"m":2}}'),
    "usage twice": row(b'"response":{"usage":{"n":1},"usage":{"m":2}}'),
    "usage field twice": row(b'"response":{"usage":{"n":1,"m":2,"n":"x"}}'),
    "agent twice": row(b'"agent_ref":{"name":"a","name":"b"},"agent_ref":{"name":"c","name":"d"}'),
    "mask twice": row(b'"mask_sample":true,"mask_sample":false'),
    "escaped keys": row(b'"mask\\u005fsample":1,"\\u0061gent_ref":"a"'),
    "float indices": b'{"_ng_task_index":1.0,"_ng_rollout_index":2e0,"m":1}',
    "largest indices": b'{"_ng_task_index":9223372036854775807,"_ng_rollout_index":-9223372036854775808}',
    "agent is a float": row(b'"agent_ref":0.1'),
    "agent is a large number": row(b'"agent_ref":9223372036854775808'),
    "agent is a very large number": row(b'"agent_ref":12345678901234567890123'),
    "agent is a very small number": row(b'"agent_ref":-12345678901234567890123'),
    "agent is a list": row(b'"agent_ref":["a"]'),
    "mask is 0.0": row(b'"mask_sample":0.0'),
    "mask is a list": row(b'"mask_sample":[0]'),
    "mask is an empty object": row(b'"mask_sample":{},"instance_config":{"mask_sample":[]}'),
    "nested mask": row(b'"instance_config":{"mask_sample":"no"}'),
    "instance_config is text": row(b'"instance_config":"mask_sample"'),
    "response is text": row(b'"response":"usage"'),
    "response is a list": row(b'"response":[{"usage":{"n":1}}]'),
    "usage is a list": row(b'"response":{"usage":[1]}'),
    "1000 deep": row(b'"deep":' + deep(1000), b'"m":1'),
}
UNREADABLE = {
    "nothing but a brace": b"{",
    "cut off": row(b'"m":1')[:-3],
    "two rows": row() + row(),
    "two rows and a space": row() + b" " + row(),
    "comma at the end": row() + b",",
    "text at the end": row() + b"x",
    "NUL at the end": row() + b"\x00",
    "no comma": row(b'"m":1 "n":2'),
    "trailing comma": row(b'"m":1,'),
    "single quotes": row(b"'m':1"),
    "no quotes": row(b"m:1"),
    "plus sign": row(b'"m":+1'),
    "leading zero": row(b'"m":01'),
    "no digit behind the point": row(b'"m":1.'),
    "no digit before the point": row(b'"m":.5'),
    "no exponent": row(b'"m":1e'),
    "only a sign": row(b'"m":-'),
    "hexadecimal": row(b'"m":0x10'),
    "Python's True": row(b'"m":True'),
    "Python's None": row(b'"m":None'),
    "tab in text": row(b'"t":"\t"'),
    "no such escape": row(b'"t":"\\x41"'),
    "half an escape": row(b'"t":"\\u00"'),
    "not UTF-8": row(b'"t":"\xff"'),
    "surrogate as UTF-8": row(b'"t":"\xed\xa0\x80"'),
    "surrogates as UTF-8": row(b'"t":"\xed\xa0\xbd\xed\xb8\x80"'),
    "overlong UTF-8": row(b'"t":"\xc0\xaf"'),
    "half a letter": row(b'"t":"\xe2\x82"'),
    "a list": b"[" + row() + b"]",
    "a number": b"1",
    "null": b"null",
    "text": b'"text"',
    "no task": b'{"_ng_rollout_index":2}',
    "no rollout": b'{"_ng_task_index":1}',
    "index is null": b'{"_ng_task_index":null,"_ng_rollout_index":2}',
    "index is text": b'{"_ng_task_index":"1","_ng_rollout_index":2}',
    "index is a boolean": b'{"_ng_task_index":true,"_ng_rollout_index":2}',
    "index is a fraction": b'{"_ng_task_index":1.5,"_ng_rollout_index":2}',
    "index is a list": b'{"_ng_task_index":[1],"_ng_rollout_index":2}',
    "index is NaN": b'{"_ng_task_index":NaN,"_ng_rollout_index":2}',
    "index is beyond a double": b'{"_ng_task_index":1e400,"_ng_rollout_index":2}',
    "index of 400 digits": b'{"_ng_task_index":' + b"1" * 400 + b',"_ng_rollout_index":2}',
    "index of 5000 digits": b'{"_ng_task_index":1,"_ng_rollout_index":-' + b"1" * 5000 + b"}",
    "index just below 64 bits": b'{"_ng_task_index":1,"_ng_rollout_index":-9223372036854775809}',
    "index of 64 bits": b'{"_ng_task_index":9223372036854775808,"_ng_rollout_index":2}',
    "negative index beyond 64 bits": b'{"_ng_task_index":1,"_ng_rollout_index":-18446744073709551616}',
    "last of two indices is text": b'{"_ng_task_index":1,"_ng_rollout_index":2,"_ng_task_index":"x"}',
    "lone surrogate in a metric's name": row(b'"\\ud800":1'),
    "lone surrogate in a usage name": row(b'"response":{"usage":{"\\ud800":1}}'),
    "lone surrogate in an agent's name": row(b'"agent_ref":{"name":"\\ud800"}'),
    "100 000 deep": row(b'"deep":' + deep(100_000)),
}

READ_OR_NOT = {
    "byte order mark within a file": b"\xef\xbb\xbf" + row(b'"m":1'),
    "two byte order marks": b"\xef\xbb\xbf\xef\xbb\xbf" + row(b'"m":1'),
    "lower-case nan": row(b'"m":nan,"n":1'),
    "inf": row(b'"m":inf,"n":1'),
    "minus NaN": row(b'"m":-NaN,"n":1'),
    "upper-case INFINITY": row(b'"m":INFINITY,"n":1'),
    "1100 deep": row(b'"deep":' + deep(1100), b'"m":1'),
}
"""Whether these are read is not said, only that it does not go by the parser."""


def as_read(rollouts: Path) -> list[dict[str, Any]]:
    """What the frame of rollouts says of each line, but for the wording of problems."""
    from pipeline.frames.lazy import collect
    from pipeline.frames.rollouts import scan_rollouts
    from pipeline.options import ReadOptions

    frame = collect(scan_rollouts(rollouts, ReadOptions(jobs=1, nested=("p",)))).sort("_line")
    told = [name for name in frame.columns if name not in {"_source", "_torn", "_offset", "_shape"}]
    found = [{name: value for name, value in line.items() if value is not None} for line in frame[told].to_dicts()]
    return [line | {"_problem": "_problem" in line} for line in found]


if __name__ == "__main__":
    sys.modules["fastsimdjson"] = None  # type: ignore[assignment]  # makes importing it fail
    sys.stdout.write(json.dumps(as_read(Path(sys.argv[1]))))
