# `make image` builds it; by hand: `make wheels`, then any builder. Nothing is fetched but the base.
ARG BASE_IMAGE=python:3.11-slim
FROM ${BASE_IMAGE}

# Copied, not mounted: builders that use their layers again notice only what is copied. It leaves 2 MB of wheels behind;
# a second stage without them would cost every rebuild more, since its layers are not kept.
COPY dist/wheels /wheels
RUN python3 -m venv /opt/paddle-operator \
    && /opt/paddle-operator/bin/pip install --no-cache-dir --no-index --find-links /wheels paddle-operator

ENV PATH=/opt/paddle-operator/bin:$PATH PYTHONUNBUFFERED=1
USER 65532:65532
ENTRYPOINT ["paddle-operator"]
