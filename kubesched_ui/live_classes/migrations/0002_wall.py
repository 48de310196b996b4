from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('live_classes', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='liveclass',
            name='bars_shown',
            field=models.JSONField(default=list, help_text='Steps whose answer counts the wall page shows.'),
        ),
    ]
