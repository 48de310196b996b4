"""The Django app of accounts. Its tables also exist without accounts; they are then empty."""

from django.apps import AppConfig, apps


class AccountsConfig(AppConfig):
    name = "kubesched_ui.accounts"
    label = "accounts"

    def ready(self) -> None:
        if apps.is_installed("allauth.account"):
            from kubesched_ui.accounts import sessions as sessions  # connects its signal handlers
