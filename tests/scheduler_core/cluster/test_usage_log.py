from scheduler_core.cluster.usage_log import UsageLog


def test_rows_since_a_position_are_returned_once_each() -> None:
    log = UsageLog()
    log.add_all(500)
    begin = log.position
    for row in (7, 3, 7):
        log.add(row)
    assert sorted(log.since(begin)) == [3, 7]
    assert sorted(log.since(begin + 2)) == [7]
    for row in range(100, 400):
        log.add(row)
    assert list(log.since(begin)) == [3, 7, *range(100, 400)]
    assert list(log.since(log.position)) == []
    log.add_all(4)
    assert list(log.since(begin)) == [0, 1, 2, 3]
