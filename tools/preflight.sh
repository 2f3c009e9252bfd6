#!/bin/sh
# Says in one sentence what this machine lacks, before anything is downloaded.
#
# Usage: preflight.sh [python] [java]; PYTHON names the interpreter (default: python3), JAVA_HOME the Java.
# Only the shell's own commands are used, so it works on the barest machine.

fail() {
    printf '%s\n' "$1" >&2
    exit 1
}

check_python() {
    python=${PYTHON:-python3}
    other="or name another interpreter: make PYTHON=python3.12"
    install="install it (Debian, Ubuntu: sudo apt install python3 python3-venv; macOS: brew install python), $other."
    command -v "$python" >/dev/null 2>&1 || fail "Python 3.10 or newer is needed, and there is no '$python' on PATH: $install"
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) ||
        fail "Python 3.10 or newer is needed, and '$python' does not run: $install"
    case $version in
        [012].* | 3.[0-9]) fail "Python 3.10 or newer is needed, and '$python' is $version: $install" ;;
    esac
    "$python" -c 'import venv, ensurepip' 2>/dev/null ||
        fail "Python's modules venv and ensurepip are needed, and '$python' lacks them: install them (Debian, Ubuntu: sudo apt install python$version-venv; macOS: brew install python), $other."
}

check_java() {
    install="install it (Debian, Ubuntu: sudo apt install openjdk-17-jre-headless, or -21- on newer releases; macOS: brew install --cask temurin@21) or set JAVA_HOME to where it is."
    java=${JAVA_HOME:+$JAVA_HOME/bin/}java
    where=' on PATH'
    [ -z "$JAVA_HOME" ] || where=' (from JAVA_HOME)'
    command -v "$java" >/dev/null 2>&1 ||
        fail "Java 17 or newer is needed, and there is no '$java'$where: $install"
    # macOS has a /usr/bin/java that runs only to say that there is no Java.
    said=$("$java" -version 2>&1) || fail "Java 17 or newer is needed, and '$java' does not run: $install"
    version=${said#*version \"}
    version=${version#1.} # 1.8 is Java 8
    version=${version%%[!0-9]*}
    [ "${version:-0}" -ge 17 ] || fail "Java 17 or newer is needed, and '$java' is Java ${version:-of no known version}: $install"
}

for part in "$@"; do
    case $part in
        python | java) "check_$part" ;;
        *) fail "preflight.sh knows python and java, not '$part'." ;;
    esac
done
