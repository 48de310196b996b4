from django.db import migrations

import kubesched_ui.fields


class Migration(migrations.Migration):

    dependencies = [
        ("kubesched_ui", "0009_breakpoints"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="imported",
            field=kubesched_ui.fields.PackedJSONField(
                default=dict,
                editable=False,
                help_text="Of a run file: its {state, cycles, decisions}; compared, decisions give way to what differs.",
            ),
        ),
    ]
