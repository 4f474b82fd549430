"""The HTTP surface, fuzzed: hostile bytes get a refusal in words, never a failure of the server or a traceback."""

import uuid
from collections import Counter

import pytest
from fuzzing import Fuzzer
from serving import Server


def fuzz(server, count, seed):
    """Statuses, by how often; fails at the first that is the server's fault, with the request."""
    with server.person() as ann:
        fuzzer = Fuzzer(server.base, [item["id"] for item in ann.next(10)], seed)
    statuses = Counter()
    for number in range(count):
        request = fuzzer.request()
        status = fuzzer.send(request)
        statuses[status] += 1
        assert status is None or status < 500, (seed, number, status, request[:2_000])
        assert number % 100 or "Traceback" not in server.said, (seed, number, request[:2_000], server.said[-3_000:])
    assert "Traceback" not in server.said, server.said[-3_000:]
    assert "a defect" not in server.said
    with server.person() as ann:  # and it still works
        item = ann.next(1)[0]
        assert ann.answer(item["id"], "bug").status_code == 200
    return statuses


def is_wide(statuses):
    """The fuzzer reaches more than the first refusal."""
    return statuses[200] > 0.1 * statuses.total() and len(statuses) >= 6


def test_hostile_requests_are_refused(folder):
    with Server(folder) as server:
        assert is_wide(fuzz(server, 400, seed=17))


@pytest.mark.soak
def test_many_hostile_requests_are_refused(folder):
    with Server(folder) as server:
        assert is_wide(fuzz(server, 10_000, seed=18))


@pytest.mark.parametrize("count", [100, pytest.param(2_000, marks=pytest.mark.soak)])
def test_hostile_requests_to_a_project_in_postgresql(folder, postgres, count):
    address = f"{postgres}&project=p{uuid.uuid4().hex}"
    with Server(folder, "--store", address) as server:
        assert is_wide(fuzz(server, count, seed=19))


def test_hostile_requests_without_the_token_get_nothing(folder):
    with Server(folder, environment={"BEMPS_TOKEN": "correct-horse-battery"}) as server:
        fuzzer = Fuzzer(server.base, ["x"], seed=20)
        statuses = Counter(fuzzer.send(fuzzer.request()) for _ in range(150))
        assert not {status for status in statuses if status is not None and (status < 400 or status >= 500)}
        assert "Traceback" not in server.said
