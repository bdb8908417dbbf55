#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A made-up directory of tracepoints, so that bpftrace can check scripts for a kernel that
# is not running.
set -euo pipefail

case ${1---help} in
--help)
	cat <<-END
	usage: tests/tracing.sh SCRIPT.bt...

	Let bpftrace check the scripts and compile them against tracepoints that are
	made up in a mount namespace of its own. Exit status 4: that cannot be done here.
	END
	exit ;;
esac

if [[ ${1-} != --inside ]]; then
	command -v bpftrace >/dev/null || exit 4
	unshare --user --map-root-user --mount true 2>/dev/null || exit 4
	exec unshare --user --map-root-user --mount "$0" --inside "$@"
fi
shift

common='	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;
'
id=1000 root=/sys/kernel/tracing

tracepoint() {		# SYSTEM NAME "TYPE FIELD SIZE"...
	local dir=$root/events/$1/$2 offset=8 align field type name size array
	mkdir -p "$dir"
	echo $((++id)) >"$dir/id"
	{
		printf 'name: %s\nID: %d\nformat:\n%s\n' "$2" "$id" "$common"
		for field in "${@:3}"; do
			read -r type name size array <<<"$field"
			align=$((size < 8 ? size : 8))
			offset=$(((offset + align - 1) & ~(align - 1)))
			printf '\tfield:%s %s%s;\toffset:%d;\tsize:%d;\tsigned:0;\n' \
				"${type//./ }" "$name" "${array-}" "$offset" "$size"
			offset=$((offset + size))
		done
		printf '\nprint fmt: ""\n'
	} >"$dir/format"
	echo "$1:$2" >>"$root/available_events"
}

mount -t tmpfs none /sys/kernel/debug
mount -t tmpfs none "$root"
: >"$root/available_filter_functions"
mkdir -p /sys/kernel/debug/tracing
mount --bind "$root" /sys/kernel/debug/tracing
# Types are what u64 and the like stand for: there are no headers.
u64=unsigned.long.long
string=__data_loc.char[]
tracepoint psi psi_stall_begin "$u64 group 8" "int pid 4" "$string cause 4"
tracepoint psi psi_stall_end "$u64 group 8" "int pid 4" "$string cause 4" \
	"$u64 duration_us 8"
for name in psi_trigger_look psi_trigger_fire; do
	tracepoint psi "$name" "$u64 group 8" "$string state 4" "$u64 growth_us 8" \
		"$u64 threshold_us 8" "$u64 window_us 8"
done
tracepoint sched sched_wakeup "char comm 16 [16]" "int pid 4" "int prio 4" "int target_cpu 4"
tracepoint sched sched_switch "char prev_comm 16 [16]" "int prev_pid 4" "int prev_prio 4" \
	"long prev_state 8" "char next_comm 16 [16]" "int next_pid 4" "int next_prio 4"

# The group of the current task cannot be had without the right to load programs; another
# number stands for it. $1 is the ID that some scripts take.
status=0 dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for script; do
	rm -f "$dir/elf"
	sed 's/(cgroup == /(cpu == /' "$script" >"$dir/script.bt"
	bpftrace --emit-elf "$dir/elf" "$dir/script.bt" 1 2>&1 | grep -v RLIMIT_MEMLOCK || true
	[[ -s $dir/elf ]] || { echo "$script: does not compile"; status=1; }
done
exit "$status"
