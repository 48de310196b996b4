"""supervisord, which starts its programs at once: `python -m kubesched_ui.runtime.supervisord_main -c FILE`.

By itself it looks after them once a second, and so starts them after the first one.
"""

from supervisor import supervisord


class Supervisor(supervisord.Supervisor):
    def runforever(self) -> None:
        for group in sorted(self.process_groups.values()):
            group.transition()
        super().runforever()


if __name__ == "__main__":
    supervisord.Supervisor = Supervisor
    supervisord.main()
