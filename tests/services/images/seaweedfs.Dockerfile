# Stands in for chrislusf/seaweedfs: the program of the same version.
FROM debian:12-slim
COPY weed /usr/bin/weed
ENTRYPOINT ["/usr/bin/weed"]
