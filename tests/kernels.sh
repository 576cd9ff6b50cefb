#!/usr/bin/env bash
# Boots Debian's cloud kernels under qemu with the release binary, makes the stall and its cures there, and holds stallscope to
# what it must say. Prints a table; fails on a wrong verdict. Skips, and says so, where qemu or the kernels cannot be had.
#
#   tests/kernels.sh [VERSION…]     default: 5.10 6.1 6.12 7.3
#
# KVM=1 uses the processor's own virtualisation, which nested machines often offer and do not bear; without it, software
# emulation. The kernels come through this machine's own apt sources and are kept in target/kernels.
set -euo pipefail
cd "$(dirname "$0")/.."

versions=("$@")
[ "${#versions[@]}" -gt 0 ] || versions=(5.10 6.1 6.12 7.3)
cache=$PWD/target/kernels
# Software emulation on a busy machine is slow; a guest that hangs must still end.
boot_limit=${BOOT_LIMIT:-400}

skip() {
    echo "kernels: skipped: $*"
    exit 0
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for tool in qemu-system-x86_64 busybox cpio xz dpkg-deb apt-get python3 setpriv; do
    command -v "$tool" >/dev/null || skip "$tool is not installed"
done
[ "$(uname -m)" = x86_64 ] || skip "the guests are x86_64, this machine is $(uname -m)"
busybox=$(command -v busybox)
if ldd "$busybox" >/dev/null 2>&1; then skip "busybox is not static: install busybox-static"; fi

apt_options=()
# Lists of our own, of all Debian releases that have one of the kernels, from the mirror that this machine uses.
prepare_apt() {
    local mirror suite
    mirror=$(cat /etc/apt/sources.list.d/*.sources 2>/dev/null | awk '/^URIs:/ {print $2; exit}')
    if [ -z "$mirror" ]; then
        mirror=$(awk '$1 == "deb" {for (i = 2; i <= NF; i++) if ($i !~ /^\[|=|\]$/) {print $i; exit}}' /etc/apt/sources.list)
    fi
    [ -n "$mirror" ] || return 1
    mkdir -p "$cache/apt/lists/partial" "$cache/apt/cache/archives/partial"
    for suite in bullseye bookworm trixie trixie-backports; do
        echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"
    done >"$cache/apt/sources.list"
    apt_options=(-qq -o "Dir::State::lists=$cache/apt/lists" -o "Dir::Etc::sourcelist=$cache/apt/sources.list"
        -o Dir::Etc::sourceparts=/dev/null -o "Dir::Cache=$cache/apt/cache" -o Acquire::Languages=none)
    [ "$(id -u)" != 0 ] || apt_options+=(-o APT::Sandbox::User=root)
    apt-get "${apt_options[@]}" update
}

# Downloads and unpacks the newest cloud kernel of a version.
fetch() {
    local version=$1 package release unpack
    package=$(apt-cache "${apt_options[@]}" search --names-only "^linux-image-${version//./\\.}[.-][.0-9+a-z-]*-cloud-amd64\$" |
        awk '{print $1}' | sort -V | tail -1)
    [ -n "$package" ] || return 1
    release=${package#linux-image-}
    unpack=$work/unpack-$version
    mkdir -p "$unpack"
    (
        cd "$unpack"
        apt-get "${apt_options[@]}" download "$package"
        # Newer kernels come in parts of their own; older ones have them in the image.
        for part in "linux-modules-$release" "linux-binary-$release"; do
            apt-get "${apt_options[@]}" download "$part" 2>/dev/null || true
        done
        for deb in *.deb; do dpkg-deb -x "$deb" root; done
    )
    [ -n "$(find "$unpack/root" -name 'tcp_diag.ko*')" ] || return 1
    mv "$unpack/root" "$cache/$version"
}

# Puts a program and the libraries that it loads under a root.
put() {
    local root=$1 program=$2 library
    mkdir -p "$root/bin"
    cp -L "$program" "$root/bin/"
    ldd "$program" | grep -o '/[^ ]*' | while read -r library; do
        mkdir -p "$root$(dirname "$library")"
        cp -Ln "$library" "$root$library" 2>/dev/null || true
    done
}

module() {
    local from=$1 to=$2 name=$3 file
    file=$(find "$from" -name "$name.ko" -o -name "$name.ko.xz" | head -1)
    case $file in
        *.xz) xz -dc "$file" >"$to/$name.ko" ;;
        *.ko) cp "$file" "$to/" ;;
    esac
}

# The archive that a guest boots: busybox, setpriv, stallscope, two modules, and what to do.
initramfs() {
    local kernel=$1 archive=$2 root=$work/root
    rm -rf "$root"
    mkdir -p "$root"/{bin,dev,proc,sys,tmp,modules,etc}
    cp "$busybox" "$root/bin/"
    put "$root" "$binary"
    # Busybox's own cannot change the user.
    put "$root" "$(command -v setpriv)"
    module "$kernel" "$root/modules" inet_diag
    module "$kernel" "$root/modules" tcp_diag
    printf 'root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n' >"$root/etc/passwd"
    cp tests/kernels/guest.sh "$root/init"
    chmod +x "$root/init"
    (cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$archive"
}

boot() {
    local kernel=$1 archive=$2 accelerator=tcg
    [ "${KVM:-0}" = 0 ] || accelerator=kvm
    timeout "$boot_limit" qemu-system-x86_64 -machine "accel=$accelerator" -m 768 -smp 2 -nographic -no-reboot \
        -kernel "$(find "$kernel" -name 'vmlinuz*' | head -1)" -initrd "$archive" \
        -append "console=ttyS0 quiet panic=-1 random.trust_cpu=on" </dev/null 2>&1
}

mkdir -p "$cache"
missing=()
for version in "${versions[@]}"; do [ -d "$cache/$version" ] || missing+=("$version"); done
if [ "${#missing[@]}" -gt 0 ]; then
    prepare_apt || skip "the lists of Debian's packages cannot be had"
    for version in "${missing[@]}"; do
        fetch "$version" || echo "kernels: skipped: no cloud kernel $version to be had"
    done
fi

if [ -n "${STALLSCOPE:-}" ]; then
    binary=$STALLSCOPE
else
    cargo build --release --locked --quiet
    binary=${CARGO_TARGET_DIR:-target}/release/stallscope
fi

failed=0
ran=0
for version in "${versions[@]}"; do
    [ -d "$cache/$version" ] || continue
    initramfs "$cache/$version" "$work/initramfs"
    boot "$cache/$version" "$work/initramfs" >"$work/console" || true
    python3 tests/kernels/judge.py "$version" <"$work/console" || failed=1
    ran=$((ran + 1))
done
[ "$ran" -gt 0 ] || skip "no kernel to boot"
exit "$failed"
