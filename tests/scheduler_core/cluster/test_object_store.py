"""The index of objects by namespace follows every change."""

from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.api.objects import Metadata, Service
from scheduler_core.cluster.object_store import ObjectTable

NAMES = st.sampled_from(["a", "b", "c"])


@given(st.lists(st.tuples(NAMES, NAMES, st.booleans()), max_size=20))
def test_objects_of_a_namespace(changes: list[tuple[str, str, bool]]) -> None:
    table: ObjectTable[Service] = ObjectTable()
    for namespace, name, there in changes:
        service = Service(metadata=Metadata(namespace=namespace, name=name))
        if there:
            table[service.key] = service
        elif service.key in table:
            del table[service.key]
        for one in "abcd":
            expected = [service for service in table.values() if service.namespace == one]
            assert list(table.in_namespace(one)) == expected
