# Refrain as a container: one static binary on an empty image, run by nobody in particular. A second target has CUDA.
#
#   docker build -t refrain .
#   docker build -t refrain:cuda --target cuda .       (docs/compose.md#cuda; published, its tag is VERSION-cuda)
#   docker run --rm refrain detect - <posts.jsonl      (with -i)
#   docker run -v refrain-data:/data -v ./refrain.yaml:/etc/refrain.yaml:ro -p 127.0.0.1:8080:8080 refrain
#
# The address in the container is open to its network, so the configuration has to name auth.tokens. Everything that is
# written goes to /data: the image runs with a read-only file system, without capabilities and as any user that may
# write there. It has no shell to check its health with: ask GET /livez and /readyz from outside.
#
# .git is part of the context (see .dockerignore): `refrain version` and the traces name the revision from it.

FROM --platform=$BUILDPLATFORM golang:1.26.8 AS source
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ENV GOCACHE=/gocache

FROM source AS build
ARG TARGETOS TARGETARCH
RUN --mount=type=cache,target=/gocache mkdir -p /out/data && \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags="-s -w" -tags nocuda -o /out/ \
    ./cmd/refrain ./deploy/compose/setup ./deploy/compose/feeder ./deploy/compose/receiver

# What docker-compose.yml needs besides: it makes topics, writes posts, and prints webhooks.
FROM scratch AS example
COPY --from=build /out/setup /out/feeder /out/receiver /
USER 65532:65532

# The program finds the driver's library while it runs, so it is dynamic, though no C is compiled: it wants the loader, libc,
# libdl and libpthread of a glibc.
FROM source AS build-cuda
ARG TARGETOS TARGETARCH
RUN --mount=type=cache,target=/gocache mkdir -p /out/data && \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags="-s -w" -o /out/ ./cmd/refrain

# The driver is not in the image: the container toolkit puts libcuda.so.1 and the compiler of PTX, which are the host's, beside the
# libraries of the base, which has to have a usual glibc. It knows where those of Debian are (by /etc/debian_version), its nvidia-smi
# runs there, and scanners read Debian's packages. An image without a shell would be smaller; libraries copied into an empty one are
# none that a scanner knows. The tag moves with Debian's fixes: building anew brings them.
FROM debian:13-slim AS cuda
COPY --from=build-cuda /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build-cuda /out/refrain /
COPY --from=build-cuda --chown=65532:65532 /out/data /data
ENV REFRAIN_DATA_DIR=/data REFRAIN_HTTP=0.0.0.0:8080
# What the toolkit gives where nobody says which cards, and of the driver: computing, and nvidia-smi. Some clusters put the driver
# into /usr/local/nvidia without telling the loader.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility LD_LIBRARY_PATH=/usr/local/nvidia/lib64
# The driver compiles the kernels at the first start. The user has no home to keep them in; on the volume they outlive the container.
ENV CUDA_CACHE_PATH=/data/cuda-cache CUDA_CACHE_MAXSIZE=67108864
USER 65532:65532
VOLUME /data
EXPOSE 8080
ENTRYPOINT ["/refrain"]
CMD ["serve", "--config", "/etc/refrain.yaml"]

# The last target is what a build without --target makes.
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
