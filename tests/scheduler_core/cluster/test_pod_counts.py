import random
from types import SimpleNamespace

import numpy as np

from scheduler_core.cluster.pod_counts import PodCounts
from scheduler_core.cluster.topology import Topology

SIZE = 60


def test_numbers_are_those_of_all_nodes_whether_few_or_many_have_pods() -> None:
    labels = [{"host": str(i), **({"zone": f"z{i % 7 % 3}"} if i % 7 else {})} for i in range(SIZE)]
    nodes = [SimpleNamespace(metadata=SimpleNamespace(labels=one)) for one in labels]
    host, zone = Topology("host", nodes), Topology("zone", nodes)
    source = random.Random(1)
    column, expected = PodCounts(SIZE), np.zeros(SIZE, np.int64)
    for step in range(400):
        there = expected.nonzero()[0].tolist()
        removes = bool(there) and source.random() < (0.2 if step < 150 else 0.7)
        row = source.choice(there) if removes else source.randrange(SIZE)
        expected[row] += -1 if removes else 1
        column.add(row, -1 if removes else 1)
        assert column.counts.tolist() == expected.tolist()
        assert set(column.rows()) == set(expected.nonzero()[0].tolist())
        assert column.total == expected.sum()
        assert column.sums("zone", zone).tolist() == zone.sums(expected).tolist()
        assert column.sums("host", host).tolist() == expected.tolist()
        if step % 90 == 50:  # one node leaves, one comes, all get new rows
            origin = np.array([*source.sample(range(SIZE), SIZE - 1), -1], np.intp)
            column.permute(origin)
            expected = np.append(expected[origin[:-1]], 0)
