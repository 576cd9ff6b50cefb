#!/bin/busybox sh
# Runs as the first process of a guest. Each result stands between two marks on the console.
# What is there already stays.
/bin/busybox --install -s /bin 2>/dev/null
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
chmod 1777 /tmp
ip link set lo up
insmod /modules/inet_diag.ko
insmod /modules/tcp_diag.ko

# result NAME COMMAND…: what it prints, and its exit status.
result() {
    name=$1
    shift
    "$@" >/tmp/out 2>/tmp/err
    status=$?
    echo
    echo "=== begin $name $status $(uname -r)"
    cat /tmp/out
    [ -s /tmp/out ] || cat /tmp/err
    echo
    echo "=== end $name"
}

# as root|nobody COMMAND…
as() {
    user=$1
    shift
    # With its path: the shell takes its own applet for a bare name.
    if [ "$user" = root ]; then "$@"; else /bin/setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"; fi
}

# Traffic of one mode for as long as a command runs. Its first requests are over before the command looks.
beside() {
    mode=$1
    shift
    stallscope lab --mode "$mode" --requests 1000000 >/dev/null 2>&1 &
    traffic=$!
    sleep 2
    "$@"
    kill "$traffic"
    wait "$traffic"
}

result lab as nobody stallscope lab --requests 20 --format json
for user in root nobody; do
    for mode in nagle response nodelay one-write msg-more; do
        beside "$mode" result "check-$user-$mode" as "$user" stallscope check --for 3s --all --format json
    done
done
beside nagle result survey-root-nagle stallscope check --for 0s --no-probe --all --format json
beside nagle result text-root-nagle stallscope check --for 0s --no-probe
for try in 1 2 3 4 5; do
    beside nagle result "survey-nobody-nagle-$try" as nobody stallscope check --for 0s --no-probe --all --format json
done
poweroff -f
