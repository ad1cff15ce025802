# An image that serves a catalog of skills to agents over HTTP, and contains nothing but
# the program:
#
#   docker build -t repertoire .
#   docker run --read-only -p 8080:8080 -e REPERTOIRE_TOKEN=… \
#     -v ./skills:/skills:ro -v repertoire:/data repertoire
#
# /skills has folders with a SKILL.md each, and /data keeps the index, the state and what
# is fetched. A configuration goes to /etc/repertoire/config.yaml. Requests must bear the
# token. Clients that call the server by another name than localhost need --allow-host:
# docker run … repertoire --root /skills mcp --http 0.0.0.0:8080 --allow-host NAME
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags='-s -w' -o /image/bin/skills ./cmd/skills \
 && ln -s skills /image/bin/repertoire \
 && mkdir -p /image/skills /image/etc/repertoire /image/etc/ssl/certs /data/cache /data/state /data/data /data/tmp \
 && touch /image/etc/repertoire/config.yaml \
 && cp /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/

FROM scratch
COPY --from=build /image /
# The user has a number only: there is no /etc/passwd. A volume begins as a copy of this
# folder, with its owner.
COPY --from=build --chown=65532:65532 /data /data
ENV HOME=/data \
    TMPDIR=/data/tmp \
    REPERTOIRE_CACHE=/data/cache \
    REPERTOIRE_STATE=/data/state \
    REPERTOIRE_DATA=/data/data \
    REPERTOIRE_CONFIG=/etc/repertoire/config.yaml
USER 65532:65532
WORKDIR /skills
VOLUME ["/data"]
EXPOSE 8080
ENTRYPOINT ["/bin/skills"]
CMD ["--root", "/skills", "mcp", "--http", "0.0.0.0:8080"]
