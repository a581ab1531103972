#!/bin/sh
# usage: root.sh BINARY FOLDER   Lays out everything that the image holds: the program, the
# libraries that it loads, name look-up, certificates. There is no shell in it.
set -eu
binary=$1
root=$2
mkdir -p "$root/etc/ssl/certs" "$root/tmp"
chmod 1777 "$root/tmp"
install -s -m 755 "$binary" "$root/firn"

# what ldd names, and the loader; glibc opens the two for name look-up by itself
triplet=$(gcc -print-multiarch)
{
    ldd "$binary" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) .*/\1/p'
    ls /lib/"$triplet"/libnss_files.so.2 /lib/"$triplet"/libnss_dns.so.2 /lib/"$triplet"/libresolv.so.2
} | sort -u | while read -r library; do
    install -D -m 755 "$library" "$root$library"
    strip --strip-unneeded "$root$library" 2>/dev/null || true
done

cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
printf 'root:x:0:0::/:/none\nfirn:x:10001:10001::/data:/none\n' >"$root/etc/passwd"
printf 'root:x:0:\nfirn:x:10001:\n' >"$root/etc/group"
