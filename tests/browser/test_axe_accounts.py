"""axe-core finds no serious problem on pages of accounts, in an instance with accounts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.conftest import new_page
from tests.browser.test_axe import check_page
from tests.kubesched_ui.instance import Instance, until

PASSWORD = "a long phrase for Ada"
MAKE = (
    f"from django.contrib.auth.models import User; User.objects.create_superuser('ada', 'a@example.org', '{PASSWORD}')"
)
PAGES = [
    "/",
    "/account/",
    "/account/log/",
    "/account/groups/",
    "/account/invitations/",
    "/account/password/",
    "/scenarios/1/shares/",
]


@pytest.fixture(scope="module")
def signed_in(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """Return a page of the administrator, at the sign-in form."""
    instance = Instance(tmp_path_factory.mktemp("accounts"), ACCOUNTS="1")
    instance.start()

    def opens() -> bool:
        with suppress(OSError):
            return instance.status("/account/login/") == 200
        return False

    until(opens, "the start")
    assert instance.command("shell", "-c", MAKE).returncode == 0
    with new_page(browser, instance) as page:
        page.goto("/account/login/")
        yield page
    instance.interrupt()


@pytest.mark.long
def test_no_serious_findings_with_accounts(signed_in: Page) -> None:
    page = signed_in
    assert check_page(page) == [], "the form to sign in"
    page.locator("input[name=login]").fill("ada")
    page.locator("input[name=password]").fill("not it")
    page.locator("form[action*=login] button, main form button").first.click()
    page.locator("[role=alert], .errorlist").first.wait_for()
    assert check_page(page) == [], "a wrong password"
    page.locator("input[name=login]").fill("ada")
    page.locator("input[name=password]").fill(PASSWORD)
    page.locator("main form button").first.click()
    page.wait_for_url("**/")
    for address in PAGES:
        answer = page.goto(address)
        assert answer is not None
        assert answer.status == 200, address
        assert check_page(page) == [], address
