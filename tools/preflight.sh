#!/bin/sh
# Check that Python and Java are usable before anything is downloaded; report the first problem in one sentence.
#
# Usage: preflight.sh [python] [java]; PYTHON names the interpreter (default: python3), JAVA_HOME the Java.
# Uses shell builtins only.

fail() {
    printf '%s\n' "$1" >&2
    exit 1
}

check_python() {
    python=${PYTHON:-python3}
    other="or name another interpreter: make PYTHON=python3.12"
    install="install it (Debian, Ubuntu: sudo apt install python3 python3-venv; macOS: brew install python), $other."
    command -v "$python" >/dev/null 2>&1 || fail "Python 3.10 or newer is needed, but '$python' is not on PATH: $install"
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) ||
        fail "Python 3.10 or newer is needed, but '$python' does not run: $install"
    case $version in
        [012].* | 3.[0-9]) fail "Python 3.10 or newer is needed, but '$python' is $version: $install" ;;
    esac
    "$python" -c 'import venv, ensurepip' 2>/dev/null ||
        fail "Python's modules venv and ensurepip are needed, but '$python' lacks them: install them (Debian, Ubuntu: sudo apt install python$version-venv; macOS: brew install python), $other."
}

check_java() {
    install="install it (Debian, Ubuntu: sudo apt install openjdk-21-jre-headless or openjdk-17-jre-headless; macOS: brew install --cask temurin@21) or set JAVA_HOME to its folder."
    java=${JAVA_HOME:+$JAVA_HOME/bin/}java
    missing="'$java' is not on PATH"
    [ -z "$JAVA_HOME" ] || missing="'$java' (from JAVA_HOME) does not exist"
    command -v "$java" >/dev/null 2>&1 ||
        fail "Java 17 or newer is needed, but $missing: $install"
    # On macOS, /usr/bin/java may be a stub that only prints that Java is missing.
    output=$("$java" -version 2>&1) || fail "Java 17 or newer is needed, but '$java' does not run: $install"
    version=${output#*version \"}
    version=${version#1.} # 1.8 is Java 8
    version=${version%%[!0-9]*}
    [ "${version:-0}" -ge 17 ] || fail "Java 17 or newer is needed, but '$java' is Java ${version:-of unknown version}: $install"
}

for part in "$@"; do
    case $part in
        python | java) "check_$part" ;;
        *) fail "preflight.sh: expected 'python' or 'java', not '$part'." ;;
    esac
done
