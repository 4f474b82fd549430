"""The scripts of the page: what a merge of two changes breaks without a word of the browser."""

import re

import pytest

from bemps.server.http.templating import STATIC

METHOD = re.compile(r"^  (?:async |static )?(\w+)\([^\n]*\) \{", re.MULTILINE)


@pytest.mark.parametrize("path", sorted(STATIC.glob("*.js")), ids=lambda path: path.name)
def test_no_class_has_a_method_twice(path):
    for body in re.split(r"^(?:export )?class ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        names = METHOD.findall(body[: body.find("\n}")])
        assert sorted(set(names)) == sorted(names)
