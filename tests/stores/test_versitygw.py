"""versitygw, a store that looks at all of a signature."""

import pytest

import services
from firn_client import Api, set_properties
from firn_server import S3Store, Server, temporary_folder


@pytest.fixture
def firn():
    """Told nothing of a region, or the wrong one, as each test says; not started."""
    folder = temporary_folder()
    with services.Versitygw(temporary_folder()) as strict, pytest.MonkeyPatch.context() as patch:
        for name, value in strict.environment().items():
            patch.setenv(name, value)
        one = Server(folder=folder, store=S3Store())
        yield one
        one.close()
        assert not any(secret in one.log_text() for secret in strict.secrets())


@pytest.mark.parametrize("region", ["eu-central-1", None])
def test_the_region_is_learnt(firn, region):
    """The store names the right one as it refuses the wrong one; requests go on with it."""
    firn.extra["FIRN_S3_REGION"] = region
    firn.start()
    api = Api(firn)
    table = api.table(api.new_namespace())
    table.apply(set_properties(a="b"))
    assert table.metadata["properties"]["a"] == "b"
    api.close()


def test_wrong_keys(firn):
    """Refused for good: 403 with the reason, and nothing is there."""
    firn.extra["FIRN_S3_SECRET_ACCESS_KEY"] = firn.store.secret_key[::-1]
    firn.start()
    api = Api(firn)
    ns = api.new_namespace()
    api.create(ns, "t").fails(403, "ForbiddenException", contains="SignatureDoesNotMatch")
    assert api.names(ns) == []
    api.close()
