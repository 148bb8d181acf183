# shellcheck shell=sh
# Files from Maven Central, checked by Maven against their checksums: sourced by scripts that set
# `part`, the part of the set-up for which they speak.

fail() {
    printf '%s: %s\n' "$part" "$1" >&2
    exit 1
}

# unfinished FOLDER: a folder beside it, in $work, which is gone at the end unless it is moved.
unfinished() {
    for tool in mvn java unzip; do
        command -v "$tool" >/dev/null ||
            fail "$tool is not there (Debian, Ubuntu: sudo apt-get install maven openjdk-17-jre-headless unzip)"
    done
    umask 022
    mkdir -p "$(dirname "$1")"
    work=$(mktemp -d "$1.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    chmod 755 "$work"
}

# fetch WHAT GOAL OPTION...: to $work, by a goal of Maven's dependency plug-in.
fetch() {
    what=$1
    goal=$2
    shift 2
    mvn --quiet --batch-mode --no-transfer-progress --strict-checksums \
        "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:$goal" \
        -DoutputDirectory="$work" "$@" </dev/null ||
        fail "cannot get $what from Maven Central; see what mvn says above"
}
