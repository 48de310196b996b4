"""Django settings of the tests. They install all that accounts need, so that a test can turn accounts on."""

from kubesched_ui.settings import *  # noqa: F403
from kubesched_ui.settings import ACCOUNTS_APPS, ACCOUNTS_MIDDLEWARE, INSTALLED_APPS, MIDDLEWARE

INSTALLED_APPS = list(dict.fromkeys([*INSTALLED_APPS, *ACCOUNTS_APPS]))
MIDDLEWARE = list(dict.fromkeys([*MIDDLEWARE[:-1], *ACCOUNTS_MIDDLEWARE, MIDDLEWARE[-1]]))
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # fast
CONTEXTS = False  # of the developer's kubeconfig
WHITENOISE_AUTOREFRESH = True  # each test client would list all static files
# Read uploads in the process and transaction of the test. A test can turn this off.
INGEST_ISOLATED = False
OFFLOAD = False
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
