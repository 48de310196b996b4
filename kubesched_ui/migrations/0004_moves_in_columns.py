from collections import defaultdict
from typing import Any

import django.db.models.deletion
import msgspec
from django.db import migrations, models

import kubesched_ui.fields

NOWHERE = 255


def to_columns(apps: Any, schema_editor: Any) -> None:
    """Moves were lists of [t, ns/name, lane, seq]; each run's become one batch of columns."""
    from kubesched_ui.fields import unpack
    from kubesched_ui.event_log.queue_sizes import Move, encode

    moves = apps.get_model("kubesched_ui", "Moves").objects.using(schema_editor.connection.alias)
    for run in moves.order_by().values_list("run", flat=True).distinct():
        rows = moves.filter(run=run).order_by("first_seq")
        old = [move for row in rows for move in msgspec.json.decode(unpack(row.data))]
        old.sort(key=lambda move: (move[0], move[3]))
        index: dict[str, int] = {}
        lanes: dict[int, int] = defaultdict(lambda: NOWHERE)
        new = []
        for t, pod, lane, seq in old:
            number = index.setdefault(pod, len(index))
            new.append(Move(t, number, lane, lanes[number], seq))
            lanes[number] = lane
        rows.delete()
        if new:
            moves.create(run_id=run, first_seq=1, data=encode(new, list(index)))


class Migration(migrations.Migration):
    dependencies = [("kubesched_ui", "0003_unknown_plugins")]

    operations = [
        migrations.CreateModel(
            name="Marks",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("first_seq", models.PositiveBigIntegerField()),
                (
                    "data",
                    kubesched_ui.fields.PackedJSONField(
                        help_text="[[t, kind, pod, node, seq, text], ...], as event_log/timeline_markers.py has them"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="marks", to="kubesched_ui.run"
                    ),
                ),
            ],
            options={
                "ordering": ["run", "first_seq"],
                "constraints": [models.UniqueConstraint(fields=("run", "first_seq"), name="marks_once")],
            },
        ),
        migrations.AlterField(model_name="moves", name="data", field=models.BinaryField()),
        migrations.RunPython(to_columns, migrations.RunPython.noop),
    ]
