"""Adds WorkloadAnswer, and the best fixes of a run."""

import django.db.models.deletion
import kubesched_ui.models.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('kubesched_ui', '0005_cycle_batch'),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="fixes",
            field=kubesched_ui.models.fields.PackedJSONField(
                editable=False,
                help_text="The best fixes over all pods without a node; null: not searched.",
                null=True,
            ),
        ),
        migrations.CreateModel(
            name='WorkloadAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(help_text='Of the workload; Pod for a pod without a controller.', max_length=100)),
                ('namespace', models.CharField(max_length=253)),
                ('name', models.CharField(max_length=253)),
                ('pod', models.CharField(help_text='ns/name of the pod that was explained.', max_length=507)),
                ('number', models.PositiveIntegerField(help_text='Number of pods that are like it, itself included.')),
                ('pods', kubesched_ui.models.fields.PackedJSONField(help_text='["ns/name", ...] of these pods.')),
                ('cause', models.CharField(help_text='A kind of docs/answers.md; empty if unknown.', max_length=40)),
                ('sentence', models.TextField()),
                ('answer', kubesched_ui.models.fields.PackedJSONField(help_text='scheduler_core.explain.Answer of the explained pod.')),
                ('fixed', models.BooleanField(default=False, help_text='Whether the fixes of the answer were searched.')),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='workload_answers', to='kubesched_ui.run')),
            ],
            options={
                'ordering': ['run', '-number', 'pod'],
                'indexes': [models.Index(fields=['run', '-number'], name='kubesched_u_run_id_f98fdf_idx'), models.Index(fields=['run', 'namespace'], name='kubesched_u_run_id_a43957_idx')],
                'constraints': [models.UniqueConstraint(fields=('run', 'pod'), name='workload_answer_once')],
            },
        ),
    ]
