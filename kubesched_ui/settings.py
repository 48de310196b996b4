"""Django settings. Each option is one environment variable. Without any, the embedded set-up under var/ is used."""

import logging
import os
from pathlib import Path

import dj_database_url
import plotly
from csp.constants import NONE, SELF, UNSAFE_INLINE

from kubesched_ui import __version__
from kubesched_ui.runtime import env, paths

BASE_DIR = paths.BASE_DIR
VAR_DIR = Path(env.text("VAR_DIR", str(paths.default_data_folder()))).absolute()
env.private_folder(VAR_DIR)
VERSION = __version__

DEBUG = env.flag("DEBUG")
SECRET_KEY = env.secret_key(VAR_DIR)
ALLOWED_HOSTS = env.names("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = env.names("CSRF_TRUSTED_ORIGINS")
if env.flag("BEHIND_TLS"):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    SECURE_HSTS_SECONDS = 3600
# The proxy redirects to https. Subdomains and preload lists are decisions of the operator.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W008", "security.W021"]

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.humanize",
    "django.contrib.staticfiles",
    "channels",
    "ninja",  # serves the assets of the API documentation locally instead of from a CDN
    "kubesched_ui",
    "kubesched_ui.accounts",
    "kubesched_ui.clusters",
    "kubesched_ui.experiments",
    "kubesched_ui.live_classes",
]
MIDDLEWARE = [
    "kubesched_ui.observability.middleware.operator_urls",
    "kubesched_ui.observability.middleware.request_log",
    "kubesched_ui.web.middleware.no_nul",
    "django.middleware.security.SecurityMiddleware",
    "kubesched_ui.web.static_files.StaticFiles",  # before the middleware that only pages need
    "csp.middleware.CSPMiddleware",
    "kubesched_ui.web.middleware.Compression",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "kubesched_ui.web.middleware.same_origin_writes",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "kubesched_ui.offload.middleware.offload",  # the last one: all checks that refuse a request run before it
]
# With accounts, users sign in (docs/accounts.md). Without accounts, these modules are not imported.
ACCOUNTS = env.accounts()
ACCOUNTS_APPS = ["allauth", "allauth.account", "allauth.socialaccount"]
ACCOUNTS_APPS += ["allauth.socialaccount.providers.openid_connect"]
ACCOUNTS_MIDDLEWARE = [
    "allauth.account.middleware.AccountMiddleware",
    "kubesched_ui.accounts.middleware.AccessControlMiddleware",
]
if ACCOUNTS:
    INSTALLED_APPS += ACCOUNTS_APPS
    MIDDLEWARE[-1:-1] = ACCOUNTS_MIDDLEWARE  # before the offload: a refused request takes no worker
REGISTER = env.choice("REGISTER", "invite", "open", "oidc")  # who may create an account
PROXIES = env.number("PROXIES", 0)  # number of proxies in front, whose X-Forwarded-For is trusted
AUDIT_DAYS = env.number("AUDIT_DAYS", 365)
AUDIT_ENTRIES = 200_000  # maximum number of audit log entries
LOGIN_URL, LOGIN_REDIRECT_URL = "account_login", "home"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
ACCOUNT_ADAPTER = "kubesched_ui.accounts.adapters.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"  # no e-mail is sent: an administrator resets passwords
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"
ACCOUNT_RATE_LIMITS = {"login": "30/m/ip", "login_failed": "20/m/ip,5/m/key", "signup": "20/m/ip"}
ALLAUTH_TRUSTED_PROXY_COUNT = PROXIES
SOCIALACCOUNT_ADAPTER = "kubesched_ui.accounts.adapters.External"
SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": env.openid_connect(), "OAUTH_PKCE_ENABLED": True}}

ROOT_URLCONF = "kubesched_ui.urls"
ASGI_APPLICATION = "kubesched_ui.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [paths.RESOURCES / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "kubesched_ui.views.context_processors.frame",
            ],
            "builtins": [  # libraries that templates use without loading them
                "django.templatetags.static",
                "django.contrib.humanize.templatetags.humanize",
                "kubesched_ui.templatetags.accounts",
                "kubesched_ui.templatetags.ui",
            ],
        },
    }
]

database = env.url("DATABASE_URL", "DATABASE_PASSWORD", f"sqlite:///{VAR_DIR / 'kubesched.sqlite3'}")
DATABASES = {"default": dj_database_url.parse(database)}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # Writers wait for each other instead of failing (IMMEDIATE), and do not block readers (WAL).
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA journal_size_limit=67108864;",
    }
else:
    # Bound the wait for an unreachable server or a held lock. DATABASE_URL may override these options.
    gone = {"connect_timeout": 5, "keepalives_idle": 20, "keepalives_interval": 5, "keepalives_count": 3}
    given = DATABASES["default"].setdefault("OPTIONS", {})
    DATABASES["default"]["OPTIONS"] = gone | {"options": "-c lock_timeout=20s"} | given
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Broker and channel layer: one Redis-compatible server, by default the embedded one on a unix socket.
BROKER_SOCKET = env.socket_path(VAR_DIR)
REDIS_URL = env.url("REDIS_URL", "REDIS_PASSWORD", f"unix://{BROKER_SOCKET}")
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.core.RedisChannelLayer",
        # No socket timeout: a websocket may stay idle for hours. Notifications are short-lived
        # (websockets/subscriber.py).
        "CONFIG": {"hosts": [{"address": REDIS_URL, "socket_timeout": None}], "capacity": 20, "expiry": 10},
    }
}
# Short-lived data that all processes share, on the same server (kubesched_ui/runtime/cache_backend.py).
CACHES = {
    "default": {
        "BACKEND": "kubesched_ui.runtime.cache_backend.SharedCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "cache",
    }
}

CELERY_BROKER_URL = (
    f"redis+socket://{REDIS_URL.removeprefix('unix://')}" if REDIS_URL.startswith("unix://") else REDIS_URL
)
# One queue for short and one for long runs (kubesched_ui/runs/queue.py). Tasks without a route may take long.
CELERY_TASK_DEFAULT_QUEUE = "long"
CELERY_TASK_ROUTES = {
    "kubesched.take_short": {"queue": "short"},
    "kubesched.explain_upgrade": {"queue": "upgrades"},
    "kubesched.compute_cell": {"queue": "experiments"},
    "kubesched.advance_experiment": {"queue": "experiments"},
}
CELERY_TASK_IGNORE_RESULT = True  # results are in the database
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_MAX_MEMORY_PER_CHILD = 1_000_000  # kB; a larger child process is replaced after its task
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0, "interval_step": 0.2}
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_timeout": 10, "socket_connect_timeout": 5, "retry_on_timeout": True}

# Runs
RUN_LOST_AFTER_S = env.number("RUN_LOST_AFTER_S", 10)  # seconds without a heartbeat: the worker is lost
RUN_HEARTBEAT_S = RUN_LOST_AFTER_S / 5
RUN_SWEEP_EVERY_S = RUN_LOST_AFTER_S / 2
WORKER_BEAT_S = 5  # of a worker's event loop (observability/worker_watchdog.py)
RUN_MAX_STARTS = 5  # a run fails after this many workers died in it
# Runs with an estimate up to this use the workers for short runs.
RUN_SHORT_SECONDS = env.number("RUN_SHORT_SECONDS", 10)
RUN_SHORT_GRACE = 3  # longer runs, by this multiple of RUN_SHORT_SECONDS, move to the workers for long runs
RUN_TIME_LIMIT_S = env.number("RUN_TIME_LIMIT_S", 3600)  # for any run
# Concurrent short runs of the workers of `make run`.
RUN_SHORT_SLOTS = env.number("RUN_SHORT_SLOTS", max(1, (os.cpu_count() or 1) - 1))
RUN_LONG_SLOTS = env.number("RUN_LONG_SLOTS", max(2, os.cpu_count() or 1))
RUN_LONG_PER_PERSON = env.number("RUN_LONG_PER_PERSON", max(1, RUN_LONG_SLOTS - 1))  # concurrent long runs of one user
RUN_BATCH_CYCLES = 500
RUN_BATCH_S = 0.1
RUN_MAX_PODS = env.number("RUN_MAX_PODS", 200_000)
RUN_MAX_RECORDS = env.number("RUN_MAX_RECORDS", 2_000_000)  # maximum number of changes in a run with virtual time
RUN_MAX_SECONDS = env.number("RUN_MAX_SECONDS", 7 * 86_400)  # maximum virtual time
UPGRADE_MAX_SECONDS = env.number("UPGRADE_MAX_SECONDS", 600)  # to search for causes between two consecutive releases

# Experiments (docs/experiments.md)
EXPERIMENT_MAX_CELLS = env.number("EXPERIMENT_MAX_CELLS", 10_000)
EXPERIMENT_MAX_ATTEMPTS = 3  # of a cell that fails for another reason than its input
EXPERIMENT_RESULT_MAX_BYTES = 2_000_000  # JSON of the result of one cell
EXPERIMENT_MAX_BYTES = env.number("EXPERIMENT_MAX_BYTES", 200_000_000)  # JSON of all results of an experiment

# Expensive requests, which separate worker processes answer (kubesched_ui/offload)
OFFLOAD = True
OFFLOAD_PROCESSES = env.number("OFFLOAD_PROCESSES", 2)  # processes for queries, and twice as many for exports
OFFLOAD_MAX_MEMORY = env.number("OFFLOAD_MAX_MEMORY", 2 * 1024**3)  # bytes of one process
OFFLOAD_MAX_SECONDS = env.number("OFFLOAD_MAX_SECONDS", 120)  # for a response, or for the next part of an export
EXPORTS_MAX_BYTES = env.number("EXPORTS_MAX_BYTES", 4 * 1024**3)  # on disk, of exports that are not read yet
# Larger texts of the editor (kubesched_ui/editor/service.py), as many at once as there are query processes
COMPOSE_MAX_MEMORY = env.number("COMPOSE_MAX_MEMORY", 512 * 1024**2)  # bytes of one process
COMPOSE_MAX_SECONDS = env.number("COMPOSE_MAX_SECONDS", 10)  # for one text

# Websockets
SOCKETS_MAX = env.number("SOCKETS_MAX", 2000)  # per web process

# Live classes (docs/live-classes.md)
LIVE_CLASS_HOURS = env.number("LIVE_CLASS_HOURS", 12)  # hours in which students may join and answer
LIVE_CLASS_KEEP_DAYS = env.number("LIVE_CLASS_KEEP_DAYS", 7)  # days for which names and answers are then stored
LIVE_CLASS_STUDENTS_MAX = env.number("LIVE_CLASS_STUDENTS_MAX", 500)
LIVE_CLASSES_MAX = env.number("LIVE_CLASSES_MAX", 200)  # open at the same time

# Live clusters (docs/live.md)
CLUSTERS = env.names("CLUSTERS")
CLUSTERS_ALWAYS = env.names("CLUSTERS_ALWAYS")
CLUSTERS_FILE = env.text("CLUSTERS_FILE")
CONTEXTS = env.contexts()
HISTORY_HOURS = env.number("HISTORY_HOURS", 24)
HISTORY_MAX_BYTES = env.number("HISTORY_MAX_BYTES", 10**9)

# Disk, quotas, retention (docs/operations.md); 0 means no limit
DISK_MIN_FREE_BYTES = env.number("DISK_MIN_FREE_BYTES", 10**9 if env.accounts() else 0)
DATABASE_MAX_BYTES = env.number("DATABASE_MAX_BYTES", 0)
QUOTA_BYTES = env.number("QUOTA_BYTES", 2 * 10**9 if env.accounts() else 0)  # per user, as all quotas
QUOTA_SCENARIOS = env.number("QUOTA_SCENARIOS", 200 if env.accounts() else 0)
QUOTA_RUNS = env.number("QUOTA_RUNS", 500 if env.accounts() else 0)
QUOTA_PODS = env.number("QUOTA_PODS", 50_000 if env.accounts() else 0)  # per run
QUOTA_RUNNING = env.number("QUOTA_RUNNING", 5 if env.accounts() else 0)
KEEP_DAYS = env.number("KEEP_DAYS", 90 if env.accounts() else 0)
TIDY_EVERY_S = 30

# Uploads (kubesched_ui/ingest reads the limits)
INGEST_MAX_BYTES = env.max_upload()
INGEST_MAX_NODES = env.number("INGEST_MAX_NODES", 10_000)
INGEST_MAX_PODS = env.number("INGEST_MAX_PODS", 200_000)
INGEST_MAX_OBJECTS = env.number("INGEST_MAX_OBJECTS", max(500_000, 2 * (INGEST_MAX_NODES + INGEST_MAX_PODS)))
INGEST_MAX_TEXT = env.number("INGEST_MAX_TEXT", max(1024**3, 5 * INGEST_MAX_BYTES))
INGEST_MAX_SECONDS = env.number("INGEST_MAX_SECONDS", 300)
INGEST_MAX_MEMORY = env.number("INGEST_MAX_MEMORY", 4 * 1024**3)
INGEST_READERS = env.number("INGEST_READERS", min(4, os.cpu_count() or 1))  # large uploads that are read at once
# Read uploads in separate processes: this frees their memory, and a crash affects only one upload.
INGEST_ISOLATED = True
# Bytes of forms and JSON bodies. Larger files go to disk (FILE_UPLOAD_MAX_MEMORY_SIZE).
DATA_UPLOAD_MAX_MEMORY_SIZE = 10 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FILES = 200
BOUND_PODS_SHOWN = 2_000  # checkboxes of the form that starts a run
DATA_UPLOAD_MAX_NUMBER_FIELDS = BOUND_PODS_SHOWN + 200
FILE_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024
FILE_UPLOAD_TEMP_DIR = env.folder(VAR_DIR / "uploads")  # scenarios/uploads.py removes files of killed processes

STATIC_URL = "/static/"
STATIC_ROOT = env.folder(VAR_DIR / "static")
STATICFILES_DIRS = [
    paths.RESOURCES / "static",
    ("plotly", Path(plotly.__file__).parent / "package_data"),
]
WHITENOISE_ALLOW_ALL_ORIGINS = False  # pages of other sites do not use these files
WHITENOISE_USE_FINDERS = True  # without collected files, serve those of the checkout (kubesched_ui/web/static_files.py)
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "kubesched_ui.web.static_files.HashedFiles"},
}

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
EMBED_ORIGINS = env.origins("EMBED_ORIGINS")  # sites that may show lessons in a frame
# Scripts come only from this server. Inline styles are allowed: bars set their width, Plotly writes a style sheet.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF, UNSAFE_INLINE],
        "img-src": [SELF, "data:", "blob:"],
        "connect-src": [SELF],
        "font-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    }
}
CSRF_FAILURE_VIEW = "kubesched_ui.views.errors.forbidden"
SESSION_COOKIE_SAMESITE = "Lax"

# Logs and metrics (docs/operations.md)
METRICS_TOKEN = env.text("METRICS_TOKEN")
METRICS_NETWORKS = env.networks("METRICS_NETWORKS", "127.0.0.0/8,::1/128")
LOG_FORMAT = env.choice("LOG_FORMAT", "plain", "json")
logging.captureWarnings(LOG_FORMAT == "json")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"},
        "json": {"()": "kubesched_ui.observability.logs.JsonLines"},
    },
    "filters": {"requests": {"()": "kubesched_ui.observability.logs.Requests"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT, "filters": ["requests"]}},
    "root": {"handlers": ["console"], "level": env.text("LOG_LEVEL", "INFO")},
    "loggers": {
        "django.channels.server": {"level": "WARNING"},
        "daphne": {"level": "WARNING"},
        # One line per request in JSON logs, which machines read; plain logs stay short.
        "kubesched_ui.requests": {"level": "INFO" if LOG_FORMAT == "json" else "WARNING"},
    },
}
