# An image that judges torch.compile: docker build -t lockstep . && docker run --rm -v "$PWD:/work" lockstep run
# Another torch: --build-arg TORCH=torch==2.15.0; another Lockstep: --build-arg LOCKSTEP=torch-lockstep==0.1.0.
FROM debian:12-slim

ARG TORCH=torch
ARG LOCKSTEP=torch-lockstep

# g++ builds the eager worker, and Inductor its kernels, whose wrapper includes Python.h.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends g++ python3-dev python3-venv \
 && rm -rf /var/lib/apt/lists/*

RUN python3 -m venv /opt/lockstep \
 && /opt/lockstep/bin/pip install --no-cache-dir "${TORCH}" "${LOCKSTEP}"
ENV PATH=/opt/lockstep/bin:$PATH

RUN useradd --create-home --uid 1000 user && install -d -o user /work
USER 1000
ENV HOME=/home/user
WORKDIR /work
# The eager worker, so that the first run need not build it.
RUN python3 -c "from lockstep.provide import main; raise SystemExit(main())"
ENTRYPOINT ["lockstep"]
CMD ["run"]
