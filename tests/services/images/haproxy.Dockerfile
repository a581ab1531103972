# Stands in for haproxy:2.6: Debian's HAProxy 2.6, configuration at the public image's place.
FROM debian:12-slim
RUN apt-get -o Acquire::Retries=3 update \
    && apt-get -o Acquire::Retries=3 install -y --no-install-recommends haproxy \
    && rm -rf /var/lib/apt/lists/*
CMD ["haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]
