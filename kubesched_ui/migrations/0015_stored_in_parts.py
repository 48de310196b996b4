from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("kubesched_ui", "0014_owners")]

    operations = [
        migrations.AddField(
            model_name="scenario",
            name="storing_at",
            field=models.DateTimeField(
                editable=False,
                help_text="Last sign of who stores it part by part; empty once it is complete.",
                null=True,
            ),
        ),
    ]
