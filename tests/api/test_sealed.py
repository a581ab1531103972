"""Secrets that lie sealed in the database: the commands, a running server, and who sees them."""

import re
import threading
import time

import pytest

from firn_client import Api
from firn_server import Server, StartError
from identity_stub import Keys, Store


@pytest.fixture
def store():
    with Store(Keys()) as one:
        yield one


@pytest.fixture
def firn(store):
    """Not started; its database is there, its settings hold one key for secrets."""
    server = Server(store=store, env={"FIRN_CACHE": "0"})
    server.key = draw(server, "k1")
    server.extra["FIRN_SECRET_KEYS"] = server.key
    assert server.run("migrate").returncode == 0
    yield server
    log = server.log_text()
    server.close()
    for secret in (*store.keys.secrets(), server.key.partition(":")[2]):
        assert secret not in log


def draw(server, name):
    done = server.run("secrets", "key", name, env={"FIRN_SECRET_KEYS": ""})
    assert re.fullmatch(rf"{name}:[A-Za-z0-9+/]{{43}}=\n", done.stdout)
    return done.stdout.strip()


def put_keys(server, pair, **options):
    text = "\n".join(x for x in (pair["id"], pair["secret"], pair["token"]) if x) + "\n"
    done = server.run("secrets", "set", "s3-keys", text=text, **options)
    assert pair["secret"] not in done.stdout + done.stderr
    return done


def good(done):
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def bad(done, *words):
    assert done.returncode == 1, done.stdout
    for word in words:
        assert word in done.stderr, done.stderr
    return done.stderr


def sealed(server):
    return [row[0] for row in server.sql("SELECT sealed FROM secret ORDER BY warehouse_id, name")]


def touch(api):
    return api.table(api.new_namespace())


def test_keys_from_the_database(firn, store):
    """A server with nothing but the key for secrets finds the store's keys in the database, where
    they cannot be read."""
    pair = store.keys.draw()
    assert "sealed with the key k1" in good(put_keys(firn, pair))
    assert good(firn.run("secrets", "list")) == "warehouse=main name=s3-keys key=k1\n"
    [text] = sealed(firn)
    assert text.startswith("v1.k1.") and pair["secret"] not in text and pair["id"] not in text
    assert good(firn.run("check")).count(" ok\n") == 6
    with firn:
        touch(Api(firn))
        assert store.refused == []


def test_the_same_twice_is_sealed_differently(firn, store):
    """Nobody sees from the texts that two secrets are one."""
    pair = store.keys.draw()
    good(put_keys(firn, pair))
    first = sealed(firn)
    good(put_keys(firn, pair))
    assert sealed(firn) != first


def test_rotation(firn, store):
    """New key in front, all sealed anew, old key away: the server works at each step."""
    good(put_keys(firn, store.keys.draw()))
    new = draw(firn, "k2")
    both = {"FIRN_SECRET_KEYS": f"{new},{firn.key}"}
    bad(firn.run("secrets", "rotate", env={"FIRN_SECRET_KEYS": new}), "the key k1, which is not among",
        "1 secrets stay as they are")
    firn.extra |= both
    with firn:
        touch(Api(firn))
        if firn.db.kind == "sqlite":  # one process per file
            firn.stop()
        assert good(firn.run("secrets", "rotate")) == "1 sealed anew with the key k2, 0 were already\n"
        assert good(firn.run("secrets", "rotate")) == "0 sealed anew with the key k2, 1 were already\n"
        if firn.db.kind == "sqlite":
            firn.start()
        touch(Api(firn))
        firn.restart({"FIRN_SECRET_KEYS": new})
        touch(Api(firn))
        assert sealed(firn)[0].startswith("v1.k2.")


def test_rotation_while_others_write(firn, store):
    """What is written meanwhile is not lost. (On SQLite one process waits for nobody: it is refused.)"""
    both = {"FIRN_SECRET_KEYS": f"{draw(firn, 'k2')} {firn.key}"}
    good(put_keys(firn, store.keys.draw()))
    last = store.keys.draw()
    good(put_keys(firn, last))
    if firn.db.kind == "postgresql":
        for _ in range(8):
            threads = [threading.Thread(target=put_keys, args=(firn, last)),
                       threading.Thread(target=firn.run, args=("secrets", "rotate"), kwargs={"env": both})]
            for one in threads:
                one.start()
            for one in threads:
                one.join()
    good(firn.run("secrets", "rotate", env=both))
    firn.extra["FIRN_SECRET_KEYS"] = both["FIRN_SECRET_KEYS"].split()[0]
    with firn:
        touch(Api(firn))
        assert store.refused == []


def test_new_store_keys_reach_a_running_server(firn, store):
    """When the store refuses the old ones, the database is asked."""
    good(put_keys(firn, store.keys.draw(token=False)))
    with firn:
        touch(Api(firn))
        if firn.db.kind == "sqlite":
            firn.stop()
        store.keys.revoke_all()
        good(put_keys(firn, store.keys.draw(token=False)))
        if firn.db.kind == "sqlite":
            firn.start()
        time.sleep(1.2)
        touch(Api(firn))
        assert store.refused in ([], ["ExpiredToken"])


@pytest.mark.parametrize("keys,words", [
    ("", "is sealed with the key k1, which FIRN_SECRET_KEYS does not hold"),
    ("other", "is sealed with the key k1, which FIRN_SECRET_KEYS does not hold"),
    ("same-name", "The secret s3-keys of the warehouse"),
])
def test_start_without_the_right_key(firn, store, keys, words):
    """Refused, with the key's id: before anybody asks the store."""
    good(put_keys(firn, store.keys.draw()))
    firn.extra["FIRN_SECRET_KEYS"] = {"": "", "other": draw(firn, "k9"), "same-name": draw(firn, "k1")}[keys]
    with pytest.raises(StartError) as error:
        firn.start()
    assert words in str(error.value)
    done = firn.run("check")
    assert re.search(r"^secrets +FAILED: .*k1", done.stdout, re.M), done.stdout
    assert done.returncode == 1


def test_secrets_stay_at_their_place(firn, store):
    """A sealed text that somebody moves to another warehouse or name opens no more."""
    good(put_keys(firn, store.keys.draw()))
    [text] = sealed(firn)
    good(put_keys(firn, store.keys.draw(), env={"FIRN_WAREHOUSE_NAME": "second"}))
    firn.sql("UPDATE secret SET sealed = %s", text)
    done = firn.run("check", env={"FIRN_WAREHOUSE_NAME": "second"})
    assert re.search(r"^secrets +FAILED: .*moved here from elsewhere", done.stdout, re.M), done.stdout
    assert re.search(r"^secrets +ok", firn.run("check").stdout, re.M)
    damaged = text[:-6] + ("AAAAAA" if not text.endswith("AAAAAA") else "BBBBBB")
    firn.sql("UPDATE secret SET sealed = %s", damaged)
    assert re.search(r"^secrets +FAILED: .*damaged", firn.run("check").stdout, re.M)


def test_settings_come_before_the_database(firn, store):
    """An operator can always override what lies there."""
    wrong = Keys().draw()
    good(put_keys(firn, wrong))
    right = store.keys.draw(token=False)
    firn.extra |= {"FIRN_S3_ACCESS_KEY_ID": right["id"], "FIRN_S3_SECRET_ACCESS_KEY": right["secret"]}
    with firn:
        touch(Api(firn))
        assert store.refused == []


def test_delete(firn, store):
    """Once."""
    good(put_keys(firn, store.keys.draw()))
    assert good(firn.run("secrets", "delete", "s3-keys")) == "s3-keys of the warehouse main: deleted\n"
    assert good(firn.run("secrets", "delete", "s3-keys")) == "s3-keys of the warehouse main: there was none\n"
    assert sealed(firn) == [] and good(firn.run("secrets", "list")) == ""


@pytest.mark.parametrize("text", ["", "\n", "only-the-id", "id\n\ntoken", "a\nb\nc\nd", "id\n \n"])
def test_what_is_no_pair_of_keys(firn, text):
    """Refused before anything is written, and not shown."""
    answer = bad(firn.run("secrets", "set", "s3-keys", text=text), "Expected 2 to 3 lines")
    assert "only-the-id" not in answer
    assert sealed(firn) == []


def test_mistakes_on_the_command_line(firn):
    """Usage, and what was expected."""
    for args in (["secrets"], ["secrets", "show"]):
        done = firn.run(*args)
        assert done.returncode == 2 and "firn secrets rotate" in done.stderr
    bad(firn.run("secrets", "set", "s4-keys", text="a\nb"), "found s4-keys")
    bad(firn.run("secrets", "set"), "found nothing")
    bad(firn.run("secrets", "key", "a b"), "needs an id")
    no_key = {"FIRN_SECRET_KEYS": ""}
    bad(firn.run("secrets", "set", "s3-keys", text="a\nb", env=no_key), "FIRN_SECRET_KEYS is not set")
    bad(firn.run("secrets", "rotate", env=no_key), "FIRN_SECRET_KEYS is not set")
    answer = bad(firn.run("secrets", "list", env={"FIRN_SECRET_KEYS": "k1:c2hvcnQ="}), "32 random bytes")
    assert "c2hvcnQ" not in answer


def test_key_from_a_file(firn, store):
    """As every secret: FIRN_SECRET_KEYS_FILE, with comments and one key a line."""
    path = firn.folder / "keys"
    path.write_text(f"# newest first\n{draw(firn, 'k2')}\n{firn.key}\n")
    del firn.extra["FIRN_SECRET_KEYS"]
    firn.extra["FIRN_SECRET_KEYS_FILE"] = str(path)
    good(put_keys(firn, store.keys.draw()))
    assert good(firn.run("secrets", "list")) == "warehouse=main name=s3-keys key=k2\n"
    with firn:
        touch(Api(firn))


def test_database_that_nobody_migrated(store):
    """No command but migrate and serve changes a schema."""
    server = Server(store=store)
    try:
        bad(server.run("secrets", "list"), "run firn migrate")
    finally:
        server.close()
