# Refrain as a container: one static binary on an empty image, run by nobody in particular.
#
#   docker build -t refrain .
#   docker run --rm refrain detect - <posts.jsonl      (with -i)
#   docker run -v refrain-data:/data -v ./refrain.yaml:/etc/refrain.yaml:ro -p 127.0.0.1:8080:8080 refrain
#
# The address in the container is open to its network, so the configuration has to name auth.tokens. Everything that is
# written goes to /data: the image runs with a read-only file system, without capabilities and as any user that may
# write there. It has no shell to check its health with: ask GET /livez and /readyz from outside.
#
# With support for NVIDIA GPUs (docs/operations.md, GPUs): the same program, dynamic, on an image with glibc.
#
#   docker build -t refrain-cuda --target refrain-cuda .
#   docker run --gpus all -v refrain-data:/data -v ./refrain.yaml:/etc/refrain.yaml:ro -p 127.0.0.1:8080:8080 refrain-cuda
#
# .git is part of the context (see .dockerignore): `refrain version` and the traces name the revision from it.

# Has glibc and the certificates of public authorities, and no shell. Name it with @sha256:... to pin it.
ARG GLIBC_IMAGE=gcr.io/distroless/base-debian12

FROM --platform=$BUILDPLATFORM golang:1.26.8 AS build
ARG TARGETOS TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ENV GOCACHE=/gocache
RUN --mount=type=cache,target=/gocache mkdir -p /out/data && \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -tags nocuda -ldflags="-s -w" -o /out/ \
    ./cmd/refrain ./deploy/compose/setup ./deploy/compose/feeder ./deploy/compose/receiver

# What docker-compose.yml needs besides: it makes topics, writes posts, and prints webhooks.
FROM scratch AS example
COPY --from=build /out/setup /out/feeder /out/receiver /
USER 65532:65532

FROM build AS build-cuda
ARG TARGETOS TARGETARCH
RUN --mount=type=cache,target=/gocache mkdir -p /out/cuda && \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags="-s -w" -o /out/cuda/ ./cmd/refrain

# NVIDIA's container toolkit adds the driver (libcuda.so.1) and the compiler of the kernels, for the capability compute, to a
# container that is started with GPUs. Which ones is for whoever starts it: with NVIDIA_VISIBLE_DEVICES here, pods that ask for none
# would have all. What is compiled is kept in the volume, or each start would compile it anew: there is no home to keep it in.
FROM ${GLIBC_IMAGE} AS refrain-cuda
COPY --from=build-cuda /out/cuda/refrain /
COPY --from=build --chown=65532:65532 /out/data /data
ENV REFRAIN_DATA_DIR=/data REFRAIN_HTTP=0.0.0.0:8080
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility CUDA_CACHE_PATH=/data/cuda-cache CUDA_CACHE_MAXSIZE=268435456
USER 65532:65532
VOLUME /data
EXPOSE 8080
ENTRYPOINT ["/refrain"]
CMD ["serve", "--config", "/etc/refrain.yaml"]

FROM scratch AS refrain
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/refrain /
COPY --from=build --chown=65532:65532 /out/data /data
ENV REFRAIN_DATA_DIR=/data REFRAIN_HTTP=0.0.0.0:8080
USER 65532:65532
VOLUME /data
EXPOSE 8080
ENTRYPOINT ["/refrain"]
CMD ["serve", "--config", "/etc/refrain.yaml"]
