# SpecBot for the App's operators. One image is web or worker, by its argument:
#
#   docker build -t specbot .                       specbot serve | serve --role web | worker
#   docker build -t specbot-gpu --target gpu .      worker --queues gpu
#
# No secret is in it: settings come as SPECBOT_* or as a file (SPECBOT_CONFIG_FILE) when it runs. Everything that is
# written goes to /data and /tmp, so the root file system can be read-only.
#
# The images are named by tags that move with their security fixes; packages are pinned in requirements/. Who wants the
# same bytes each time names a digest: --build-arg PYTHON_IMAGE=python@sha256:...
ARG PYTHON_IMAGE=python:3.12-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1
WORKDIR /src
RUN python -m venv /opt/specbot
COPY requirements/ requirements/
RUN /opt/specbot/bin/pip install -r requirements/service.txt -r requirements/build.txt
COPY LICENSE README.md pyproject.toml ./
COPY .ci/build_hook.py .ci/build_hook.py
COPY bot/ bot/
COPY checks/ checks/
COPY kernels/ kernels/
COPY templates/ templates/
RUN /opt/specbot/bin/pip install --no-deps --no-build-isolation .

# torch brings its own CUDA libraries; the driver comes from the host.
FROM build AS build-gpu
RUN /opt/specbot/bin/pip install -r requirements/kernels.txt

FROM ${PYTHON_IMAGE} AS runtime
# git reads the repositories; its version is the distribution's, with its security fixes.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates git \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin specbot \
    # Whoever the container runs as owns its volume; compose.yaml runs it as the owner of the settings.
    && install -d -m 1777 /data
ENV PATH=/opt/specbot/bin:$PATH \
    HOME=/tmp \
    MPLCONFIGDIR=/tmp/matplotlib \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    SPECBOT_DATA_DIR=/data \
    SPECBOT_HOST=0.0.0.0 \
    SPECBOT_PORT=8080
WORKDIR /data
VOLUME /data
USER 10001:10001
ENTRYPOINT ["specbot"]

# What runs the kernels of pull requests: Triton compiles its launchers with the C compiler, and bubblewrap confines.
FROM runtime AS gpu
USER root
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends bubblewrap gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build-gpu /opt/specbot /opt/specbot
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility \
    NVIDIA_VISIBLE_DEVICES=all
USER 10001:10001
CMD ["worker", "--queues", "gpu"]

# The last target is the one that is built when none is named.
FROM runtime AS app
COPY --from=build /opt/specbot /opt/specbot
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen('http://127.0.0.1:' + os.environ['SPECBOT_PORT'] + '/healthz', timeout=4)"]
CMD ["serve"]
