from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("kubesched_ui", "0010_imported_runs")]

    operations = [
        migrations.AlterField(
            model_name="run",
            name="release",
            field=models.CharField(default="1.34", help_text="Feature gates may follow.", max_length=1000),
        ),
    ]
