"""Adds CycleBatch, and removes the indexes of foreign keys that other indexes begin with."""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models

TABLES = {"cycle": "cycles", "eventblock": "event_blocks", "podresult": "pod_results"}  # model -> related name


def remove_indexes(apps: Any, schema_editor: Any) -> None:
    """Remove them without Django's AlterField, which would copy the tables of SQLite."""
    connection = schema_editor.connection
    for model in TABLES:
        table = apps.get_model("kubesched_ui", model)._meta.db_table
        with connection.cursor() as cursor:
            found = connection.introspection.get_constraints(cursor, table)
        for name, index in found.items():
            if index["columns"] == ["run_id"] and index["index"] and not (index["unique"] or index["primary_key"]):
                schema_editor.execute(f"DROP INDEX {schema_editor.quote_name(name)}")


class Migration(migrations.Migration):
    dependencies = [("kubesched_ui", "0004_live_origin")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name=model,
                    name="run",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name=related,
                        to="kubesched_ui.run",
                    ),
                )
                for model, related in TABLES.items()
            ],
            database_operations=[migrations.RunPython(remove_indexes, migrations.RunPython.noop)],
        ),
        migrations.CreateModel(
            name="CycleBatch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("first", models.PositiveIntegerField(help_text="Number of the first cycle.")),
                ("last", models.PositiveIntegerField()),
                ("first_seq", models.PositiveBigIntegerField()),
                ("last_seq", models.PositiveBigIntegerField()),
                (
                    "nodes_version",
                    models.PositiveIntegerField(default=0, help_text="Version of the node list that the rows index."),
                ),
                ("data", models.BinaryField()),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="cycle_batches",
                        to="kubesched_ui.run",
                    ),
                ),
            ],
            options={
                "ordering": ["run", "first"],
                "indexes": [models.Index(fields=["run", "last_seq"], name="kubesched_u_run_id_0eada7_idx")],
                "constraints": [models.UniqueConstraint(fields=("run", "first"), name="cycle_batch_once")],
            },
        ),
    ]
