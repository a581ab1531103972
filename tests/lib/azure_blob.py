"""A small client of Azure's Blob interface, with an account's key, a SAS or a token."""

import base64
import email.utils
import hashlib
import hmac
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree

VERSION = "2021-12-02"


class Blobs:
    """One container. `endpoint` holds the account where an emulator wants it in the path."""

    def __init__(self, endpoint, account, container, key=None, sas=None, token=None):
        self.endpoint, self.account, self.container = endpoint.rstrip("/"), account, container
        self.key, self.sas, self.token = key, sas, token

    def ask(self, method, name="", data=None, query=None, **headers):
        """Status and body."""
        path = f"{self.endpoint}/{self.container}" + (f"/{urllib.parse.quote(name)}" if name else "")
        query = dict(query or {})
        headers = {k.replace("_", "-"): v for k, v in headers.items()}
        headers |= {"x-ms-version": VERSION, "x-ms-date": email.utils.formatdate(usegmt=True)}
        if data is not None:
            headers.setdefault("content-type", "application/octet-stream")
        text = urllib.parse.urlencode(query)
        if self.sas:
            text = f"{text}&{self.sas}".lstrip("&")
        elif self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        elif self.key:
            headers["Authorization"] = self.sign(method, path, query, headers, data)
        request = urllib.request.Request(path + ("?" + text if text else ""), data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def sign(self, method, path, query, headers, data):
        lines = [method, "", "", str(len(data)) if data else "", "", headers.get("content-type", ""), "", "",
                 "", headers.get("if-none-match", ""), "", ""]
        lines += [f"{k}:{headers[k]}" for k in sorted(headers) if k.startswith("x-ms-")]
        lines.append(f"/{self.account}{urllib.parse.urlsplit(path).path}")
        lines += [f"{k}:{query[k]}" for k in sorted(query)]
        digest = hmac.new(base64.b64decode(self.key), "\n".join(lines).encode(), hashlib.sha256).digest()
        return f"SharedKey {self.account}:{base64.b64encode(digest).decode()}"

    def put(self, name, data):
        return self.ask("PUT", name, data, x_ms_blob_type="BlockBlob")

    def list(self, prefix):
        """Names."""
        found, marker = [], ""
        while True:
            status, body = self.ask("GET", query={"restype": "container", "comp": "list", "prefix": prefix}
                                    | ({"marker": marker} if marker else {}))
            assert status == 200, (status, body)
            page = xml.etree.ElementTree.fromstring(body.decode("utf-8-sig"))
            found += [name.text for name in page.iterfind("./Blobs/Blob/Name")]
            marker = page.findtext("NextMarker")
            if not marker:
                return found
