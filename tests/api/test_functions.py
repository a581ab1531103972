"""Functions: readable by the specification, made by no operation of it, so every namespace has none."""


def test_a_namespace_has_no_functions(api):
    """listFunctions: an empty list, no next page; with and without paging."""
    ns = api.new_namespace()
    for query in ("", "?pageToken=", "?pageToken=&pageSize=5"):
        answer = api.get(f"/v1/namespaces/{ns}/functions{query}").ok()
        assert answer.json == {"identifiers": []}
    api.get(f"/v1/namespaces/{ns}/functions?pageToken=abc").fails(400)
    api.get(f"/v1/namespaces/{ns}/functions?pageSize=0").fails(400)


def test_a_missing_function(api):
    """loadFunction: NoSuchFunctionException, or NoSuchNamespaceException for the namespace."""
    ns = api.new_namespace()
    api.get(f"/v1/namespaces/{ns}/functions/f").fails(404, "NoSuchFunctionException", f"Function does not exist: {ns}.f")
    for path in ("functions", "functions/f"):
        api.get(f"/v1/namespaces/none/{path}").fails(404, "NoSuchNamespaceException", "Namespace does not exist: none")


def test_functions_are_listed_in_endpoints(api):
    endpoints = api.get("/v1/config").ok().json["endpoints"]
    assert "GET /v1/{prefix}/namespaces/{namespace}/functions" in endpoints
    assert "GET /v1/{prefix}/namespaces/{namespace}/functions/{function}" in endpoints
