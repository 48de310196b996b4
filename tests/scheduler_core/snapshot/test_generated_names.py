"""Names for objects with generateName."""

from scheduler_core.snapshot.generated_names import GeneratedNames, name_objects


def job(base: str, namespace: str = "", name: str = "") -> dict[str, object]:
    metadata = {
        "generateName": base,
        **({"namespace": namespace} if namespace else {}),
        **({"name": name} if name else {}),
    }
    return {"kind": "Job", "metadata": metadata}


def names(*raws: dict[str, object]) -> list[str]:
    name_objects(raws)
    return [raw["metadata"]["name"] for raw in raws]  # type: ignore[index]


def test_equal_inputs_get_equal_names_and_equal_objects_different_ones() -> None:
    made = names(*(job("sample-") for _ in range(50)))
    assert made == names(*(job("sample-") for _ in range(50)))
    assert len(set(made)) == 50
    assert all(name.startswith("sample-") and len(name) == len("sample-") + 5 for name in made)


def test_a_name_is_kept() -> None:
    assert names(job("sample-", name="mine")) == ["mine"]


def test_a_name_that_another_object_has_is_not_used() -> None:
    (first,) = names(job("sample-"))
    made, known = names(job("sample-"), job("other-", name=first))
    assert made != known == first
    assert names(job("sample-"), job("other-", "elsewhere", first))[0] == first


def test_a_long_base_is_cut() -> None:
    (made,) = names(job("x" * 100))
    assert len(made) == 63


def test_values_of_the_wrong_type_are_left_for_the_validation() -> None:
    odd = [{"kind": "Job", "metadata": {"generateName": 7}}, {"kind": "Job", "metadata": []}, {"kind": "Job"}, 3]
    assert name_objects(odd) == []
    assert "name" not in odd[0]["metadata"]  # type: ignore[index]


def test_a_name_is_made_for_each_number() -> None:
    given = GeneratedNames()
    assert given.name("Pod", "a", "p-", lambda name: False) != given.name("Pod", "a", "p-", lambda name: False)
