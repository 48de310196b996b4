import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import kubesched_ui.fields

STATES = [
    ("queued", "Queued"),
    ("running", "Running"),
    ("done", "Done"),
    ("failed", "Failed"),
    ("cancelled", "Cancelled"),
]


class Migration(migrations.Migration):

    dependencies = [
        ("kubesched_ui", "0011_feature_gates"),
    ]

    operations = [
        migrations.AlterField(
            model_name="run",
            name="error",
            field=models.TextField(blank=True, help_text="Why it failed, a sentence."),
        ),
        migrations.AlterField(
            model_name="run",
            name="heartbeat_at",
            field=models.DateTimeField(
                blank=True, help_text="Last sign of life; of queued work, when sent.", null=True
            ),
        ),
        migrations.CreateModel(
            name="Upgrade",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("state", models.CharField(choices=STATES, default="queued", max_length=10)),
                ("cancel_requested", models.BooleanField(default=False)),
                ("error", models.TextField(blank=True, help_text="Why it failed, a sentence.")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "heartbeat_at",
                    models.DateTimeField(
                        blank=True, help_text="Last sign of life; of queued work, when sent.", null=True
                    ),
                ),
                (
                    "worker",
                    models.CharField(blank=True, help_text="Token of the worker that may write.", max_length=200),
                ),
                (
                    "starts",
                    models.PositiveSmallIntegerField(default=0, help_text="How often a worker has taken it up."),
                ),
                (
                    "releases",
                    models.JSONField(
                        help_text='["1.33", "1.34", ...], in the order in which one would go through them'
                    ),
                ),
                (
                    "every",
                    models.BooleanField(default=False, help_text="Pods that are on a node are placed again, too."),
                ),
                ("done", models.PositiveIntegerField(default=0, help_text="Runs played to find causes.")),
                ("planned", models.PositiveIntegerField(default=0, help_text="As far as that is known.")),
                ("steps", kubesched_ui.fields.PackedJSONField(default=list, editable=False)),
                (
                    "runs",
                    models.ManyToManyField(
                        help_text="One of each release, otherwise alike.",
                        related_name="upgrades",
                        to="kubesched_ui.run",
                    ),
                ),
                (
                    "scenario",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="upgrades",
                        to="kubesched_ui.scenario",
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at", "-id"],
            },
        ),
    ]
