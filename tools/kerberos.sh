#!/bin/sh
# Build a librdkafka with Kerberos support, as the packages of Linux distributions are, and install the wheel of
# confluent-kafka of the same version. This is done once, in the user's cache. The tests use both: the library as
# KAFKA_SQL_LIBRDKAFKA, the folder of the wheel first in PYTHONPATH.
#
# Usage: kerberos.sh missing PYTHON    print what is missing on this machine, and fail
#        kerberos.sh build PYTHON      build it, unless already built
#        kerberos.sh site PYTHON       print the folder of the wheel
#        kerberos.sh library PYTHON    print the path of the library
#
# LIBRDKAFKA may be set to a folder with librdkafka's source. By default, the source is taken from an npm package.
set -eu

PATH=$PATH:/usr/sbin:/sbin
SOURCE=@confluentinc/kafka-javascript@1.10.1
PACKAGES='build-essential pkg-config libssl-dev libcurl4-openssl-dev libsasl2-dev libsasl2-modules-gssapi-mit krb5-kdc krb5-admin-server krb5-user npm'

header() {
    printf '#include <%s>\n' "$1" | cc -E - >/dev/null 2>&1 || printf ' %s' "$1"
}

lacking() {
    for program in cc make pkg-config krb5kdc kdb5_util kadmin.local kinit; do
        command -v "$program" >/dev/null 2>&1 || printf ' %s' "$program"
    done
    [ -n "${LIBRDKAFKA:-}" ] || command -v npm >/dev/null 2>&1 || printf ' npm'
    for name in openssl/ssl.h curl/curl.h sasl/sasl.h; do
        header "$name"
    done
    ls /usr/lib/*/sasl2/libgssapiv2.so* /usr/lib*/sasl2/libgssapiv2.so* 2>/dev/null | grep -q . ||
        printf ' libgssapiv2.so (SASL)'
}

missing() {
    packages=$(lacking "$1")
    [ -z "$packages" ] && return
    printf 'Kerberos tests are skipped, because these are missing:%s. Debian, Ubuntu: sudo apt install %s.\n' "$packages" "$PACKAGES"
    exit 1
}

folder() {
    cache=${KAFKA_SQL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kafka_sql}
    printf '%s/kerberos-wheel-%s-%s' "$cache" "${SOURCE##*@}" "$("$1" -c 'import sys; print(sys.implementation.cache_tag)')"
}

build() {
    python=$(realpath -s "$1") folder=$2 work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    rm -rf "$folder"
    mkdir -p "$folder"
    source=${LIBRDKAFKA:-}
    if [ -z "$source" ]; then
        (cd "$work" && npm pack --silent "$SOURCE" >/dev/null && tar xzf ./*.tgz)
        source=$work/package/deps/librdkafka
    fi
    cp -R "$source" "$work/librdkafka"
    cd "$work/librdkafka"
    ./configure --prefix="$folder" --enable-gssapi --enable-curl --disable-lz4-ext --disable-zstd
    make -C src -j2
    make -C src install
    # 0xMMmmrrpp; the package has the same version as the library
    version=$(sed -n 's/^#define RD_KAFKA_VERSION *0x\([0-9a-f]*\).*/\1/p' src/rdkafka.h)
    version=$("$python" -c 'import sys; n = int(sys.argv[1], 16); print(n >> 24, n >> 16 & 255, n >> 8 & 255, sep=".")' "$version")
    "$python" -m pip install --disable-pip-version-check --no-deps --target "$folder/site" \
        --only-binary confluent-kafka "confluent-kafka==$version"
    touch "$folder/.built"
}

case ${1:-} in
    missing) missing "$2" ;;
    site) printf '%s/site\n' "$(folder "$2")" ;;
    library) printf '%s/lib/librdkafka.so.1\n' "$(folder "$2")" ;;
    build)
        target=$(folder "$2")
        if [ ! -e "$target/.built" ]; then
            missing "$2"
            build "$2" "$target"
        fi
        ;;
    *)
        echo "kerberos.sh: expected missing, build, site or library." >&2
        exit 1
        ;;
esac
