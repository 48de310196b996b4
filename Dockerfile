FROM python:3.11-slim
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /app
# memmon, which replaces a web process that is too large, asks ps.
RUN apt-get update && apt-get install --yes --no-install-recommends procps && rm -rf /var/lib/apt/lists/*
COPY requirements.txt .
RUN pip install --no-cache-dir -r requirements.txt
COPY manage.py pyproject.toml ./
COPY scheduler_core scheduler_core
COPY kubesched_ui kubesched_ui
COPY templates templates
COPY static static
COPY docs/plugins.md docs/plugins.md
COPY docs/examples/per_node_plugin.py docs/examples/per_node_plugin.py
RUN useradd --create-home kubesched && mkdir -p /data && chown kubesched /data
USER kubesched
# Large request bodies are written to TMPDIR while they arrive.
ENV KUBESCHED_HOST=0.0.0.0 KUBESCHED_VAR_DIR=/data TMPDIR=/data
VOLUME /data
EXPOSE 8000
CMD ["python", "manage.py", "serve", "--host", "0.0.0.0", "--port", "8000"]
