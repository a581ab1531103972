"""loadTable and tableExists: tags, 304, refs mode, gzip, HEAD, missing files."""

import gzip
import json

import pytest

from firn_client import add_snapshot, field, set_properties, set_ref, struct, table_path


def with_history(api, ns, n=6):
    """Main at the last snapshot, a branch and a tag at older ones, the rest referenced by nothing."""
    table = api.table(ns)
    for i in range(1, n + 1):
        table.append(i, i, i - 1 or None)
    table.apply(set_ref("branch", 2), set_ref("tag", 3, "tag"),
                *[{"action": "set-statistics", "statistics": {
                    "snapshot-id": i, "statistics-path": f"{table.location}/s{i}.puffin", "file-size-in-bytes": 9,
                    "file-footer-size-in-bytes": 3, "blob-metadata": []}} for i in (1, 2, n)],
                *[{"action": "set-partition-statistics", "partition-statistics": {
                    "snapshot-id": i, "statistics-path": f"{table.location}/p{i}", "file-size-in-bytes": 9}}
                  for i in (1, n)])
    return table


def test_missing_table(api, ns):
    """404 NoSuchTableException, also where the namespace is missing: never NoSuchNamespaceException."""
    api.load(ns, "t").fails(404, "NoSuchTableException", f"Table does not exist: {ns}.t")
    api.load("non-existing", "t").fails(404, "NoSuchTableException", "Table does not exist: non-existing.t")
    api.load(["a", "b"], "t").fails(404, "NoSuchTableException", "Table does not exist: a.b.t")
    api.head(table_path("non-existing", "t")).expect(404)
    api.head(table_path(ns, "t")).expect(404)


def test_answer(table):
    """metadata-location, metadata, config as an object; no credentials that nobody configured."""
    answer = table.load().ok()
    assert sorted(answer.json) == ["config", "metadata", "metadata-location"]
    assert answer.json["config"] == {}


def test_metadata_is_the_file_byte_for_byte(api, table):
    """A load costs the bytes that travel: they are those of the file."""
    table.append(1, 1)
    answer = table.load().ok()
    assert api.store.read(answer.json["metadata-location"]) in answer.body


def test_exists_answers_from_the_database_alone(api, ns, table):
    """204 even when the metadata file is gone."""
    api.store.delete(table.metadata_location)
    assert api.exists(ns, table.name)


# --- tags ---------------------------------------------------------------------


def test_tag_form(table):
    """A quoted tag, possibly weak; private to the client, checked on every use."""
    answer = table.load().ok()
    tag = answer.etag
    assert tag.removeprefix("W/").startswith('"') and tag.endswith('"') and len(tag) < 80
    assert "private" in answer.header("Cache-Control")
    assert answer.header("Vary") == "Accept-Encoding, X-Iceberg-Access-Delegation, Authorization"


def test_tag_of_create_commit_register_and_load_is_one(api, ns):
    """The same state has the same tag wherever it is answered, `snapshots=all` or not given."""
    created = api.create(ns, "t").ok()
    loads = [api.load(ns, "t", q).ok().etag for q in ("", "?snapshots=all", "?snapshots=ALL", "?referenced-by=v")]
    assert {created.etag, *loads} == {created.etag}
    committed = api.commit(ns, "t", [set_properties(a="b")]).ok()
    assert committed.etag == api.load(ns, "t").ok().etag != created.etag
    location = committed.json["metadata-location"]
    api.drop(ns, "t").expect(204)
    assert api.register(ns, "t", location).ok().etag == committed.etag == api.load(ns, "t").ok().etag


def test_tags_differ_between_tables_states_and_modes(api, ns):
    """Another table, another state and the refs mode have tags of their own."""
    one, two = api.table(ns), api.table(ns)
    tags = [one.load().etag, two.load().etag, one.load("?snapshots=refs").etag]
    one.append(1, 1)
    tags += [one.load().etag, one.load("?snapshots=refs").etag]
    one.apply(set_properties(x="y"))
    tags.append(one.load().etag)
    assert len(set(tags)) == len(tags)


def test_not_modified(table):
    """304 with the tag and without a body."""
    tag = table.load().etag
    answer = table.load(If_None_Match=tag).expect(304)
    assert answer.raw == b"" and answer.etag == tag
    refs = table.load("?snapshots=refs").etag
    table.load("?snapshots=refs", If_None_Match=refs).expect(304)


def test_if_none_match_forms(table):
    """Lists, `*`, weak and unquoted tags, and the suffix that proxies add are understood."""
    tag = table.load().etag
    bare = tag.removeprefix("W/").strip('"')
    for value in (tag, f'"{bare}"', f'W/"{bare}"', bare, "*", f'"x", W/"{bare}" , "y"', f'W/"a",{tag}',
                  f'W/"{bare}-gzip"', f'"{bare}--gzip"'):
        table.load(If_None_Match=value).expect(304)
    for value in ('"x"', "", '""', f'"{bare}x"', f'"x{bare}"', '"x", W/"y"', "," * 50):
        table.load(If_None_Match=value).expect(200)


def test_never_304_without_being_asked(table):
    """Java fails on a 304 that it did not ask for."""
    table.load().expect(200)
    table.load("?snapshots=refs", If_None_Match=table.load().etag).expect(200)


def test_changed_table_is_sent_again(table):
    """After a commit the old tag no longer matches."""
    tag = table.load().etag
    table.apply(set_properties(a="b"))
    assert table.load(If_None_Match=tag).ok().json["metadata"]["properties"]["a"] == "b"


def test_dropped_and_renamed_tables_are_no_longer_unmodified(api, ns, table):
    """A tag does not outlive the name."""
    tag = table.load().etag
    api.rename((ns, table.name), (ns, "other")).expect(204)
    table.load(If_None_Match=tag).fails(404, "NoSuchTableException")
    api.load(ns, "other", If_None_Match=tag).expect(304)
    api.drop(ns, "other").expect(204)
    api.load(ns, "other", If_None_Match=tag).fails(404, "NoSuchTableException")


def test_missing_metadata_file(api, ns, table):
    """On local files a load whose file is gone, conditional or not, is 404 NotFoundException naming it,
    although the table was loaded a moment ago."""
    first = table.load().ok()
    location = first.json["metadata-location"]
    data = api.store.read(location)
    api.store.delete(location)
    if api.store.kind == "file":
        text = f"Failed to open input stream for file: {location}"
        table.load().fails(404, "NotFoundException", text)
        table.load(If_None_Match=first.etag).fails(404, "NotFoundException", text)
        table.load("?snapshots=refs").fails(404, "NotFoundException", text)
    else:
        table.load().expect(200, 404)
    assert api.exists(ns, table.name) and api.names(ns) == [table.name]
    api.store.write(location, data)
    table.load().ok()


def test_broken_table_among_others(api, ns, table):
    """One table without its file: the list works, the others load, it can be dropped."""
    healthy = api.table(ns)
    api.store.delete(table.metadata_location)
    assert sorted(api.names(ns)) == sorted([table.name, healthy.name])
    healthy.load().ok()
    api.drop(ns, table.name).expect(204)
    assert api.names(ns) == [healthy.name]


# --- refs mode ------------------------------------------------------------------


def test_refs_mode(api, ns):
    """Only snapshots that a branch or tag points to, and their statistics; everything else complete."""
    table = with_history(api, ns)
    every, refs = table.load().ok().json, table.load("?snapshots=refs").ok().json
    assert [s["snapshot-id"] for s in refs["metadata"]["snapshots"]] == [2, 3, 6]
    assert [s["snapshot-id"] for s in refs["metadata"]["statistics"]] == [2, 6]
    assert [s["snapshot-id"] for s in refs["metadata"]["partition-statistics"]] == [6]
    assert refs["metadata-location"] == every["metadata-location"]
    for member in every["metadata"]:
        if member not in ("snapshots", "statistics", "partition-statistics"):
            assert refs["metadata"][member] == every["metadata"][member], member
    assert set(refs["metadata"]) == set(every["metadata"])
    kept = {s["snapshot-id"]: s for s in every["metadata"]["snapshots"]}
    assert all(kept[s["snapshot-id"]] == s for s in refs["metadata"]["snapshots"])


def test_refs_mode_without_snapshots(table):
    """An empty table has nothing to leave out."""
    assert table.load("?snapshots=refs").ok().json["metadata"]["snapshots"] == []


@pytest.mark.parametrize("mode", ["refs", "REFS", "Refs"])
def test_mode_in_any_case(api, ns, mode):
    """Clients send lower case; any is taken."""
    table = with_history(api, ns, 4)
    assert len(table.load(f"?snapshots={mode}").ok().json["metadata"]["snapshots"]) == 3


@pytest.mark.parametrize("query", ["?snapshots=none", "?snapshots=", "?snapshots=ref", "?snapshots=all,refs"])
def test_unknown_mode(table, query):
    """400 that says what is known."""
    table.load(query).fails(400, "BadRequestException", contains="snapshots")


def test_unknown_parameters_are_ignored(table):
    """Newer clients and proxies add parameters."""
    table.load("?snapshots=all&unknown=1&x").ok()
    table.load("?").ok()
    table.load("?&&snapshots=refs&").ok()


def test_divergent_branches_in_refs_mode(api, ns):
    """Lazy loading with branches that went apart, in every version."""
    for version in ("1", "2", "3"):
        table = api.table(ns, properties={"format-version": version})
        more = {"first-row-id": 0, "added-rows": 0} if version == "3" else {}
        sequence = (lambda i: None) if version == "1" else (lambda i: i)
        table.apply(add_snapshot(1, sequence(1), location=table.location, **more), set_ref("main", 1))
        table.apply(set_ref("b", 1))
        table.apply(add_snapshot(2, sequence(2), 1, table.location, **more), set_ref("main", 2))
        table.apply(add_snapshot(3, sequence(3), 1, table.location, **more), set_ref("b", 3))
        refs = table.load("?snapshots=refs").ok().json["metadata"]
        assert [s["snapshot-id"] for s in refs["snapshots"]] == [2, 3]
        assert [e["snapshot-id"] for e in refs["snapshot-log"]] == [1, 2]


# --- compression ----------------------------------------------------------------


def large(api, ns):
    fields = [field(i, f"column_{i}", "string", doc="some words about it") for i in range(1, 200)]
    return api.table(ns, schema=struct(*fields))


def test_gzip_holds_the_same_document(api, ns):
    """Asked for, a large answer is gzip; unpacked it is the same, with the same tag."""
    table = large(api, ns)
    plain = table.load().ok()
    assert plain.header("Content-Encoding") is None
    packed = None
    for _ in range(4):  # a version may be compressed only once it is asked for again
        answer = table.load(Accept_Encoding="gzip").ok()
        assert answer.json == plain.json and answer.etag == plain.etag
        assert "Accept-Encoding" in answer.header("Vary")
        packed = answer if answer.header("Content-Encoding") == "gzip" else packed
    assert packed, "never compressed"
    assert len(packed.raw) < len(plain.raw) / 4
    assert gzip.decompress(packed.raw) == plain.body
    table.load(Accept_Encoding="gzip", If_None_Match=plain.etag).expect(304)
    assert table.load("?snapshots=refs", Accept_Encoding="gzip").ok().json["metadata"] == plain.json["metadata"]


@pytest.mark.parametrize("value", ["", "identity", "gzip;q=0", "deflate, br", "*;q=0", "xgzip"])
def test_no_gzip_unless_asked(api, ns, value):
    """Nothing is compressed for a client that did not say gzip, or refused it."""
    table = large(api, ns)
    for _ in range(3):
        answer = table.load(Accept_Encoding=value).ok()
        assert answer.header("Content-Encoding") is None


@pytest.mark.parametrize("value", ["gzip", "gzip, x-gzip, deflate", "gzip, deflate, br, zstd", "br;q=1.0, gzip;q=0.8",
                                   "GZIP"])
def test_gzip_as_clients_ask_for_it(api, ns, value):
    """Java and PyIceberg list several codings."""
    table = large(api, ns)
    answers = [table.load(Accept_Encoding=value).ok() for _ in range(3)]
    assert answers[-1].header("Content-Encoding") == "gzip"


def test_gzip_after_each_commit(api, ns):
    """The compressed form follows the table."""
    table = large(api, ns)
    for i in range(4):
        table.apply(set_properties(round=str(i)))
        for _ in range(3):
            assert table.load(Accept_Encoding="gzip").ok().json["metadata"]["properties"]["round"] == str(i)


def test_answers_of_both_paths_are_equal(api, ns, table):
    """A load right after the commit and one from another server on the same database are the same bytes."""
    table.append(1, 1)
    if api.server.db.kind == "sqlite":
        return
    from firn_client import Api
    with api.server.replica() as other:
        assert Api(other).load(ns, table.name).ok().body == table.load().ok().body


def test_numbers_and_texts_travel_exactly(api, ns):
    """64-bit ids digit by digit, escapes and letters beyond ASCII unchanged."""
    table = api.table(ns, properties={"\u00fc\U0001f3d4": "quote \" backslash \\ slash / tab \t line \n \u2028"})
    table.apply(add_snapshot(4598765432109876543, 9007199254740993, location=table.location))
    answer = table.load().ok()
    assert b"4598765432109876543" in answer.body and b"9007199254740993" in answer.body
    assert json.loads(answer.body)["metadata"]["properties"]["\u00fc\U0001f3d4"] == \
        "quote \" backslash \\ slash / tab \t line \n \u2028"
