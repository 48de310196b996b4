from typing import Any

from django.db import migrations, models
from django.db.models import Count, OuterRef, Subquery
from django.db.models.functions import Coalesce


def count_nominated(apps: Any, schema_editor: Any) -> None:
    results = apps.get_model("kubesched_ui", "PodResult").objects.filter(run=OuterRef("pk"), result="unschedulable")
    counted = results.exclude(nominated_node="").order_by().values("run").annotate(pods=Count("pk")).values("pods")
    apps.get_model("kubesched_ui", "Run").objects.update(nominated=Coalesce(Subquery(counted), 0))


class Migration(migrations.Migration):
    dependencies = [("kubesched_ui", "0002_written_lesson")]

    operations = [
        migrations.AddField(
            "run",
            "nominated",
            models.PositiveIntegerField(
                default=0,
                db_default=0,
                help_text="Pending pods with a nominated node, on which preemption frees resources.",
            ),
        ),
        migrations.AddField(
            "run",
            "evicted",
            models.PositiveIntegerField(
                null=True, editable=False, help_text="Number of evictions; null: not counted, as before version 1.1."
            ),
        ),
        migrations.AlterField(
            "run",
            "unschedulable",
            models.PositiveIntegerField(
                default=0, help_text="Pods without a feasible node, including nominated ones."
            ),
        ),
        migrations.AlterField(
            "run",
            "pods",
            models.JSONField(blank=True, help_text='["ns/name", ...]; null: all pending pods', null=True),
        ),
        migrations.RunPython(count_nominated, migrations.RunPython.noop),
    ]
