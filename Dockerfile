# `make image` builds it; by hand: `make wheels juicefs`, then any builder. Nothing is fetched but the base.
ARG BASE_IMAGE=python:3.11-slim
FROM ${BASE_IMAGE}

COPY dist/juicefs/juicefs /usr/local/bin/juicefs

# The wheels, for several Pythons, are not in the image; the list of their hashes is, because builders that use their
# layers again notice only what is copied.
COPY dist/wheels/SHA256SUMS /opt/paddle-operator/
RUN --mount=type=bind,source=dist/wheels,target=/wheels \
    python3 -m venv /opt/paddle-operator \
    && /opt/paddle-operator/bin/pip install --no-cache-dir --no-index --find-links /wheels paddle-operator

ENV PATH=/opt/paddle-operator/bin:$PATH PYTHONUNBUFFERED=1
USER 65532:65532
ENTRYPOINT ["paddle-operator"]
