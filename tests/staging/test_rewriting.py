"""What Arrow adds to DuckDB's files: fixed lengths, and VARIANTs within structs, lists and maps."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from tests.pipes.default.chunks import Worker, column, columns, listed, mapped, struct
from tests.pipes.default.conftest import MakeTable
from tests.pipes.sql.landing import create, land

from frazil.layout import hashing
from frazil.model import Layout, LayoutTransform, PartitionField
from frazil.pipes.types import cast, json_structure
from frazil.staging.annotation import annotated
from frazil.staging.partitioned import PartitionedRows
from frazil.staging.rewriting import needs_rewriting, rewrite


def described(path: Path) -> list[str]:
    """A file's schema as parquet-cpp prints it, a line for each group and leaf."""
    lines = str(pq.ParquetFile(path).schema).splitlines()[2:-1]
    return [line.strip(" {;") for line in lines if line.strip() != "}"]


def test_a_variant_within_another_type_says_that_it_is_one(make_table: MakeTable) -> None:
    kinds = {"V": "variant", "s": struct(v="variant"), "l": listed("variant")}
    kinds["m"] = mapped("string", struct(deep=listed("variant")))
    landed = make_table(*columns(id="long", **kinds)).land(
        '{"id": 1, "V": 7, "s": {"v": {"z": 1, "a": [true]}}, "l": [{"q": 1}, null, 3], "m": {"k": {"deep": [1.5]}}}',
        '{"id": 2, "s": null, "l": null, "m": null}',
        '{"id": 3, "V": null, "s": {"v": null}, "l": [], "m": {"k": null}}',
        '{"id": 4, "l": [123456789.123456789, 12345678901234567890]}',
        '{"id": 5, "l": [1e400]}',
        '{"id": 6, "s": {"v": {"a": 1, "a": 2}}}',
    )

    assert landed.rows == [
        (1, 7, {"v": {"z": 1, "a": [True]}}, [{"q": 1}, None, 3], [("k", {"deep": [1.5]})]),
        (2, None, None, None, None),
        (3, None, {"v": None}, [], [("k", None)]),
        (4, None, None, [Decimal("123456789.123456789"), Decimal(12345678901234567890)], None),
    ]
    assert landed.reasons == {
        4: ("l", "[0]: the number '1e400' is more than a VARIANT keeps exactly"),
        5: ("s", "v: an object within the VARIANT has a key twice"),
    }
    assert landed.written is not None
    found = described(landed.written.path)
    groups = [number for number, line in enumerate(found) if line.endswith("(Variant(1))")]
    assert len(groups) == 4
    for number in groups:
        assert "optional group field_id=" in found[number]
        assert found[number + 1] == "required binary field_id=-1 metadata"
    with duckdb.connect() as reader:
        ((text,),) = reader.sql(f"SELECT to_json(l)::VARCHAR FROM '{landed.written.path}' WHERE id = 1").fetchall()
    assert json.loads(text) == [{"q": 1}, None, 3]


def test_a_fixed_has_its_length_in_the_file_and_takes_no_other(make_table: MakeTable) -> None:
    kinds = columns(f="fixed[2]", s=struct(f="fixed[3]"), l=listed("fixed[1]"), m=mapped("fixed[1]", "fixed[2]"))

    landed = make_table(*kinds).land(
        '{"f": "00fF", "s": {"f": "010203"}, "l": ["0a", null], "m": {"0b": "0c0d"}}',
        '{"f": null}',
        '{"f": "00"}',
        '{"f": "000000"}',
        '{"s": {"f": "0102"}}',
        '{"m": {"0b0c": "0000"}}',
        '{"f": " 00ff "}',
        '{"f": 12}',
    )

    assert landed.rows == [
        (b"\0\xff", {"f": b"\1\2\3"}, [b"\n", None], [(b"\x0b", b"\x0c\r")]),
        (None, None, None, None),
        (b"\0\xff", None, None, None),
    ]
    assert landed.reasons == {
        2: ("f", "'00' is not text of 4 hexadecimal digits"),
        3: ("f", "'000000' is not text of 4 hexadecimal digits"),
        4: ("s", "f: '0102' is not text of 6 hexadecimal digits"),
        5: ("m", "the key '0b0c': '0b0c' is not text of 2 hexadecimal digits"),
        7: ("f", "'12' is not text of pairs of hexadecimal digits"),
    }
    assert landed.written is not None
    lengths = [line.split()[1] for line in described(landed.written.path) if "fixed_len" in line]
    assert lengths == [f"fixed_len_byte_array({length})" for length in (2, 3, 1, 1, 2)]
    assert landed.written.size == landed.written.path.stat().st_size


def test_every_other_column_is_as_duckdb_writes_it(make_table: MakeTable) -> None:
    names = ("boolean", "int", "long", "float", "double", "string", "date", "time", "timestamp", "timestamptz")
    names = (*names, "timestamp_ns", "timestamptz_ns", "uuid", "binary", "decimal(5,2)", "decimal(38,10)", "variant")
    plain = columns(**{name: name for name in names}, s=struct(a="long"), l=listed("string"), m=mapped("int", "date"))
    moment = '"2024-02-29T12:30:00.123456"'
    values = ["true", "1", "2", "0.5", "-0.0", '"ø"', '"2024-02-29"', '"12:30:00"', moment, moment, moment, moment]
    values += ['"8d8ac610-566d-4ef0-9c22-186b2a5ed793"', '"00ff"', "1.25", "1.5", '{"b": 1, "a": 2}']
    members = dict(zip(names, values, strict=True)) | {"s": '{"a": 1}', "l": '["x"]', "m": '{"1": "2024-01-01"}'}
    record = "{" + ", ".join(f'"{name}": {value}' for name, value in members.items()) + "}"

    before = make_table(*plain).land(record, "{}")
    after = make_table(*plain, column("fixed", "fixed[2]")).land(record, "{}")

    assert before.written
    assert after.written
    assert [row[:-1] for row in after.rows] == before.rows
    kinds = [line.partition(" (")[0] for line in described(before.written.path)]
    assert [line.partition(" (")[0] for line in described(after.written.path)][:-1] == kinds


def test_row_groups_stay_what_they_are(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    with duckdb.connect() as writer:
        writer.execute(
            f"COPY (SELECT unhex(printf('%04x', i)) AS f FROM range(6000) t(i)) TO '{path}' "
            "(FORMAT parquet, ROW_GROUP_SIZE 2048, FIELD_IDS {f: 1})"
        )
    groups = pq.ParquetFile(path).metadata.num_row_groups

    size = rewrite(path, [column("f", "fixed[2]")], dictionaries=False)

    file = pq.ParquetFile(path)
    assert groups > 1
    assert file.metadata.num_row_groups == groups
    assert file.read().column("f").to_pylist() == [number.to_bytes(2) for number in range(6000)]
    assert size == path.stat().st_size
    assert [each.name for each in tmp_path.iterdir()] == ["x.parquet"]


def test_a_users_pipe_fills_what_is_rewritten(worker: Worker) -> None:
    shape = columns(
        s=struct(v="variant", f="fixed[2]"), l=listed("variant"), hash="fixed[2]", m=mapped("string", "variant")
    )
    pipe = create("$1:s, $1:l, $1:h, $1:m")

    landed = land(
        worker,
        pipe,
        shape,
        '{"s": {"v": {"b": 1, "a": 12345678901234567890}, "f": "00ff"}, "l": [1, null, "x"], "h": "0a0b", "m": {"k": [1.50]}}',
        "{}",
        '{"h": "0a"}',
        '{"s": {"v": 1, "f": "0a"}}',
        '{"l": [1e400]}',
    )

    assert landed.rows == [
        (
            {"v": {"b": 1, "a": Decimal(12345678901234567890)}, "f": b"\0\xff"},
            [1, None, "x"],
            b"\n\x0b",
            [("k", [1.5])],
        ),
        (None, None, None, None),
    ]
    assert {offset: reject.column for offset, reject in landed.rejects.items()} == {2: "hash", 3: "s", 4: "l"}
    assert "4 hexadecimal digits" in landed.rejects[2].reason


def test_the_files_of_partitions_are_rewritten_too(worker: Worker) -> None:
    day, hashed, nested = shape = columns(d="date", h="fixed[1]", s=struct(v="variant"))
    layout = Layout(
        (
            PartitionField("d", day.id, LayoutTransform("identity")),
            PartitionField("h", hashed.id, LayoutTransform("bucket", 2)),
        )
    )
    hashing.teach(worker.connection, layout)
    held = PartitionedRows(worker.connection, shape, layout, worker.scratch)
    values = [("2024-01-01", "00", 1), ("2024-01-02", "01", "x"), ("2024-01-01", "00", None)]
    for date, text, value in values:
        document = json.dumps({"v": value}).replace("'", "''")
        read = cast(f"from_json('{document}', '{json.dumps(json_structure(nested.type))}')", nested.type)
        held.take(f"SELECT DATE '{date}' AS d, unhex('{text}') AS h, {read} AS s", 1)

    rows = [row for written in held.write() for row in worker.read(written.path)]

    assert sorted(rows, key=repr) == [
        (dt.date(2024, 1, 1), b"\0", {"v": 1}),
        (dt.date(2024, 1, 1), b"\0", {"v": None}),
        (dt.date(2024, 1, 2), b"\1", {"v": "x"}),
    ]


def test_only_what_needs_it_is_rewritten() -> None:
    assert not needs_rewriting(columns(v="variant", s=struct(a="long"), b="binary", m=mapped("string", "binary")))
    assert needs_rewriting(columns(s=struct(a=listed("variant"))))
    assert needs_rewriting(columns(m=mapped("fixed[4]", "long")))


def test_a_footer_without_the_group_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    with duckdb.connect() as writer:
        writer.execute(f"COPY (SELECT 1 AS a, 2 AS b) TO '{path}' (FORMAT parquet, FIELD_IDS {{a: 1, b: 70000}})")
    data = path.read_bytes()
    footer = data[-8 - int.from_bytes(data[-8:-4], "little") : -8]

    assert len(annotated(footer, {1, 70000})) == len(footer) + 2 * len(b"\x1c\x0c \x13\x01\0\0")
    with pytest.raises(ValueError, match=r"field ids \[3\]"):
        annotated(footer, {1, 3})
