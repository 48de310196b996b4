"""axe-core finds nothing serious on the pages of accounts, which only an instance where people sign in has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.conftest import new_page
from tests.browser.test_axe import look
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
    """A page of the administrator, at the form to sign in."""
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
def test_nothing_serious_where_people_sign_in(signed_in: Page) -> None:
    page = signed_in
    assert look(page) == [], "the form to sign in"
    page.locator("input[name=login]").fill("ada")
    page.locator("input[name=password]").fill("not it")
    page.locator("form[action*=login] button, main form button").first.click()
    page.locator("[role=alert], .errorlist").first.wait_for()
    assert look(page) == [], "a wrong password"
    page.locator("input[name=login]").fill("ada")
    page.locator("input[name=password]").fill(PASSWORD)
    page.locator("main form button").first.click()
    page.wait_for_url("**/")
    for address in PAGES:
        answer = page.goto(address)
        assert answer is not None
        assert answer.status == 200, address
        assert look(page) == [], address
