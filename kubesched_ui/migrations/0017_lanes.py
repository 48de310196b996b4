from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("kubesched_ui", "0016_kept")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="lane",
            field=models.CharField(
                blank=True,
                default="",
                editable=False,
                help_text="short or long; empty until it is queued.",
                max_length=5,
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="run",
            name="low",
            field=models.BooleanField(default=False, help_text="Others go first."),
        ),
        migrations.AddField(
            model_name="run",
            name="estimate_s",
            field=models.FloatField(editable=False, help_text="Seconds that it was thought to take.", null=True),
        ),
        migrations.AddField(
            model_name="scenario",
            name="pending",
            field=models.PositiveIntegerField(
                editable=False, help_text="Pods without a node; null: not counted.", null=True
            ),
        ),
    ]
