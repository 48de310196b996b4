FROM python:3.11-slim@sha256:9c900dea9e8fb7e16277c179b555cc72d29a352dbc33cff48ad5a0412fd5bfc7
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /app
# memmon, which replaces a web process that is too large, asks ps.
RUN apt-get update && apt-get install --yes --no-install-recommends procps && rm -rf /var/lib/apt/lists/* /var/cache/apt/*
COPY requirements.txt .
# The secrets are optional: the configuration of pip and the certificates of a network that has its own.
RUN --mount=type=secret,id=pip.conf,target=/etc/pip.conf \
    --mount=type=secret,id=ca-certificates.crt,target=/run/ca-certificates.crt \
    pip install --no-cache-dir --require-hashes --only-binary=:all: -r requirements.txt \
    && find /usr/local/lib/python3.11/site-packages -depth -type d \
        \( -name tests -o -path '*/twisted/*' -name test \) -exec rm -r {} +
COPY manage.py pyproject.toml README.md LICENSE NOTICE ./
COPY scheduler_core scheduler_core
COPY kubesched_ui kubesched_ui
COPY templates templates
COPY static static
COPY docs docs
# Otherwise each process compiles the project when it starts, which takes a second of processor time.
RUN python -m compileall -q scheduler_core kubesched_ui
RUN useradd --uid 1000 --create-home kubesched && mkdir -p /data && chown kubesched /data
USER 1000
# Large request bodies are written to TMPDIR while they arrive.
ENV KUBESCHED_HOST=0.0.0.0 KUBESCHED_VAR_DIR=/data TMPDIR=/data
VOLUME /data
EXPOSE 8000
CMD ["python", "manage.py", "serve", "--host", "0.0.0.0", "--port", "8000"]
