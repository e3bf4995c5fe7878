"""State that is damaged, of another version or of another query is refused, with what to do about it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest
from tests.ongoing.test_live import Kept, live_of

import sparkleene as sk
from sparkleene.columns.ipc import to_bytes, to_table
from sparkleene.errors import DataError, Diagnostic
from sparkleene.ongoing.live import Bucket, Live
from sparkleene.ongoing.seal import VERSION, seal, unseal

QUERY = "RETURN user, COUNT(*) PATTERN SEQ(A+, B) WHERE [user] GROUP-BY user WITHIN 10 SLIDE 5"
ROWS = pa.table({"time": [11, 12, 13, 14], "type": list("AABA"), "user": list("xyxx")})
PARTITIONS = "number of buckets"


def refused(call: Callable[[], object]) -> Diagnostic:
    """Return the one diagnostic of the error that a call raises."""
    with pytest.raises(DataError) as caught:
        call()
    [found] = caught.value.diagnostics
    return found


def kept() -> tuple[Live, Kept]:
    """Return a query and the state of a bucket with two segments."""
    live, flat = live_of(sk.query(QUERY), ROWS)
    live = replace(live, identity={"query": QUERY, PARTITIONS: "4"})
    store = Kept()
    bucket = Bucket.load(live, store)
    for part in (flat.slice(0, 2), flat.slice(2)):
        times = live.times(part)
        bucket.add(seal(to_bytes(part)), part.num_rows, int(times.min()), int(times.max()))
    bucket.save()
    return live, store


def closed(live: Live, store: Kept) -> list[object]:
    """Let all windows of a bucket end."""
    return list(Bucket.load(live, store).advance(1_000))


def flipped(content: bytes, at: int, mask: int = 1) -> bytes:
    changed = bytearray(content)
    changed[at] ^= mask
    return bytes(changed)


def test_what_is_sealed_comes_back() -> None:
    assert bytes(unseal(seal(b"some state"))) == b"some state"
    assert bytes(unseal(seal(b""))) == b""
    table = pa.table({"a": [1, None], "b": ["x", "y"]})
    assert to_table(unseal(seal(to_bytes(table)))).equals(table)


def test_every_bit_is_checked() -> None:
    whole = seal(b"some state")
    for at in range(len(whole)):
        for bit in range(8):
            found = refused(lambda at=at, bit=bit: unseal(flipped(whole, at, 1 << bit)))  # type: ignore[misc]
            assert found.code == ("state-version" if at == 3 else "damaged-state")


def test_every_length_is_checked() -> None:
    whole = seal(b"some state")
    for end in range(len(whole)):
        assert refused(lambda end=end: unseal(whole[:end])).code == "damaged-state"  # type: ignore[misc]
    assert refused(lambda: unseal(whole + b"\0")).code == "damaged-state"


def test_another_version() -> None:
    whole = bytearray(seal(b"some state"))
    whole[3] = VERSION + 1
    found = refused(lambda: unseal(bytes(whole)))
    assert found.code == "state-version"
    assert found.message == (f"the state is of version {VERSION + 1}, and this release reads version {VERSION}")
    assert found.help is not None and "release that wrote it" in found.help


def test_the_state_is_whole_as_it_is() -> None:
    assert closed(*kept())


@pytest.mark.parametrize("number", [-1, 0, 1])
def test_a_flipped_byte_of_a_bucket(number: int) -> None:
    live, store = kept()
    for at in range(0, len(store[number]), 7):
        damaged = Kept(store)
        damaged[number] = flipped(store[number], at)
        found = refused(lambda damaged=damaged: closed(live, damaged))  # type: ignore[misc]
        assert found.code == ("state-version" if at == 3 else "damaged-state")
        assert found.help is not None and "new checkpoint" in found.help


def test_a_segment_that_is_gone_or_another() -> None:
    live, store = kept()
    without = Kept({number: content for number, content in store.items() if number != 0})
    assert "segment 0 is missing" in refused(lambda: closed(live, without)).message
    shorter = Kept(store)
    shorter[0] = seal(to_bytes(to_table(unseal(store[0])).slice(1)))
    assert "segment 0" in refused(lambda: closed(live, shorter)).message


@pytest.mark.parametrize("head", [b"", b"{", b"[]", b"{}", b'{"identity": {"query": ""}}'])
def test_a_head_that_says_nothing(head: bytes) -> None:
    live, store = kept()
    store.set_head(seal(head))
    assert refused(lambda: Bucket.load(replace(live, identity={}), store)).code == "damaged-state"


def test_a_head_without_a_member() -> None:
    live, store = kept()
    whole = json.loads(bytes(unseal(store[-1])))
    for name in whole:
        store.set_head(seal(json.dumps({key: value for key, value in whole.items() if key != name}).encode()))
        assert refused(lambda: Bucket.load(live, store)).code == "damaged-state"


def test_another_query() -> None:
    live, store = kept()
    other = QUERY.replace("A+", "A")
    found = refused(lambda: Bucket.load(replace(live, identity=live.identity | {"query": other}), store))
    assert found.code == "query-changed"
    assert found.message == "the checkpoint was written with another query"
    assert found.notes == (f"query was: {QUERY}\nand is now: {other}",)
    assert found.help is not None and "new checkpoint" in found.help


def test_another_number_of_partitions() -> None:
    live, store = kept()
    found = refused(lambda: Bucket.load(replace(live, identity=live.identity | {PARTITIONS: "8"}), store))
    assert found.code == "query-changed"
    assert "another number of buckets" in found.message
    assert found.notes == (f"{PARTITIONS} was: 4\nand is now: 8",)


def test_a_segment_in_the_place_of_another() -> None:
    live, store = kept()
    bucket = Bucket.load(live, store)
    one = next(iter(number for number in store if number >= 0))
    store[one] = seal(bytes(unseal(store[one]))[:-1] + b"?")
    assert refused(lambda: bucket.read(bucket.segments[0])).code == "damaged-state"
