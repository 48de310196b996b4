from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("kubesched_ui", "0017_lanes"),
    ]

    operations = [
        migrations.AlterField(
            model_name="scenario",
            name="origin",
            field=models.CharField(
                choices=[
                    ("upload", "Upload"),
                    ("sample", "Sample"),
                    ("edit", "Edit"),
                    ("api", "Api"),
                    ("composed", "Composed"),
                ],
                default="upload",
                max_length=10,
            ),
        ),
    ]
