import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("kubesched_ui", "0008_forks"),
    ]

    operations = [
        migrations.CreateModel(
            name="Breakpoint",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=200)),
                ("where", models.TextField(help_text="CEL over a cycle.")),
                ("run", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="breakpoints", to="kubesched_ui.run")),
            ],
            options={
                "ordering": ["run", "pk"],
                "constraints": [models.UniqueConstraint(fields=("run", "name"), name="breakpoint_name_once")],
            },
        ),
    ]
