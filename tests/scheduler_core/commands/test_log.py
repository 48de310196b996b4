"""`python -m scheduler_core log`: its output, the comparison with a snapshot, and errors."""

import json

from tests.recordings import LIVE_A
from tests.scheduler_core.build import node, pod
from tests.scheduler_core.evidence.logs import LIFE, NO_FIT, text


def test_what_is_no_log_of_a_scheduler(cli):
    assert "is not a log of kube-scheduler" in cli.error("log", cli.file("x.txt", "kind: Pod\n"))
    start = text(LIFE[:2])
    assert "It has only its start. Bindings" in cli.error("log", cli.file("start.log", start))
    assert "Pod shop/none: is not in the log" in cli.error("log", cli.file("a.log", text()), "--pod", "shop/none")


def test_the_command(cli):
    path = cli.file("a.log", text())
    lines = cli.out("log", path).splitlines()
    assert lines[:2] == [
        "kube-scheduler v1.36.2: 26 lines from 12-31 23:59:59.000000 on.",
        "3 attempts: 1 bound, 1 refused, 1 failed.",
    ]
    assert "12-31 23:59:59.012000  shop/a  attempt 1: bound to n2, 2 of 2 evaluated nodes feasible" in lines
    assert "    n1: 340 = TaintToleration 300, NodeResourcesFit 40" in lines
    assert f"At the end pending: shop/b: {NO_FIT}" in lines
    assert "moved to Active" in cli.out("log", path, "--pod", "shop/a")
    kinds = [json.loads(line)["kind"] for line in cli.out("log", path, "--json").splitlines()]
    assert kinds[0] == "log"
    assert kinds.count("attempt") == 3


def test_a_log_is_compared_with_a_snapshot(cli):
    message = (
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are "
        "available: 1 Preemption is not helpful for scheduling."
    )
    refused = (31, "schedule_one.go:1239", "Unable to schedule pod; no fit; waiting", {"pod": "shop/b", "err": message})
    bound = (30, "schedule_one.go:481", "Successfully bound pod to node", {"pod": "shop/a", "node": "n1"})
    path = cli.file("a.log", text([LIFE[1], bound, refused]))
    objects = [node("n1", cpu="2"), pod("a", namespace="shop", requests={"cpu": "1"}, on="n1"),
               pod("b", namespace="shop", requests={"cpu": "3"})]  # fmt: skip
    same = cli.out("log", path, "--cluster", cli.snapshot(*objects))
    assert "Compared with our computation: 1 of 1 chosen node and 1 of 1 refusal equal" in same
    objects[0] = node("n1", cpu="8")
    other = cli.out("log", path, "--cluster", cli.snapshot(*objects), code=1)
    assert "  shop/b, attempt 1 in line 3: message: it finds a node\n    in the log: 0/1 nodes" in other
    compared = [
        json.loads(line)
        for line in cli.out("log", path, "--cluster", cli.snapshot(*objects), "--json", code=1).splitlines()
    ]
    assert [one["outcome"] for one in compared if one["kind"] == "compared"] == ["equal", "differs"]
    recording = str(LIVE_A)
    unrelated = cli.out("log", path, "--cluster", recording, "--cluster", cli.snapshot(*objects))
    assert "not comparable with the recording: 2 attempts, because it does not have the pod" in unrelated
