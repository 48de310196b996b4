"""`manage.py export_scenario ID > FILE`: writes a stored cluster as a document that can be uploaded again."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from kubesched_ui.ingest.formats import scenario_document
from kubesched_ui.ingest.yaml_writer import to_yaml
from kubesched_ui.management.own_command import OwnCommand
from kubesched_ui.models import Scenario


class Command(OwnCommand):
    help = "Writes a scenario as YAML (kind: Scenario, docs/formats.md)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("id", type=int)

    def handle(self, *args: Any, id: int, **options: Any) -> None:
        scenario = Scenario.objects.filter(pk=id).first()
        if scenario is None:
            raise CommandError(f"there is no scenario {id}")
        about = (scenario.description, scenario.kubernetes, scenario.config, scenario.time)
        self.stdout.write(to_yaml(scenario_document(scenario.name, scenario.objects_of(), *about)))
