# The page of projects in a container: docker build -t bemps . && docker run --rm -p 127.0.0.1:8765:8765 -v bemps:/projects bemps
# It prints a link with a token; open it with localhost as the host.
FROM python:3.11-slim AS build
ARG EXTRAS=label,text,parquet,postgres
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN python -m venv /opt/bemps && \
    /opt/bemps/bin/pip install --no-cache-dir --constraint constraints.txt ".[${EXTRAS}]" && \
    BEMPS_WEIGHTS=/opt/bemps/weights /opt/bemps/bin/bemps weights bge-small

FROM python:3.11-slim
COPY --from=build /opt/bemps /opt/bemps
RUN useradd --create-home --uid 1000 bemps && install -d -o bemps -g bemps /projects /files
ENV PATH=/opt/bemps/bin:$PATH PYTHONUNBUFFERED=1 BEMPS_WEIGHTS=/opt/bemps/weights
USER 1000
WORKDIR /files
VOLUME /projects
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/static/page.css', timeout=4)"]
STOPSIGNAL SIGINT
ENTRYPOINT ["bemps"]
CMD ["projects", "--folder", "/projects", "--host", "0.0.0.0", "--port", "8765", "--no-browser"]
