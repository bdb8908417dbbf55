# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Completion of psitop and psi-wait for bash.

# Cgroups, in the form "/a/b".
_psi_cgroups() {
	local root dir
	root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[[ -n $root ]] || return
	for dir in "$root${1%/*}"/*/; do
		[[ -d $dir ]] || continue
		dir=${dir%/}
		dir=${dir#"$root"}
		[[ $dir != "$1"* ]] || printf '%s\n' "$dir"
	done
}

_psi_reply() {		# WORDS, of which those that fit are offered
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

# What an option of either program takes. False if it takes nothing.
_psi_value() {		# OPTION WORD
	case $1 in
	-g | --cgroup)
		# Names may have anything in them; as file names they are quoted.
		compopt -o nospace -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(_psi_cgroups "${2:-/}") ;;
	-d | --delay) _psi_reply "100ms 200ms 500ms 1s 2s 5s" "$2" ;;
	-t | --timeout) _psi_reply "10s 1min 1h" "$2" ;;
	--output) mapfile -t COMPREPLY < <(compgen -f -- "$2") ;;
	--pressure-dir | --cgroup-dir | --proc-dir) mapfile -t COMPREPLY < <(compgen -d -- "$2") ;;
	*) return 1 ;;
	esac
}

_psitop() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
	COMPREPLY=()
	case $before in
	-r | --resource) _psi_reply "cpu memory io irq" "$word"; return ;;
	-s | --sort) _psi_reply "now avg10 total name" "$word"; return ;;
	-f | --filter | -n | --count | --rows | --at) return ;;
	--keep) _psi_reply "1h 1d 7d" "$word"; return ;;
	--record | --replay) mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
	esac
	_psi_value "$before" "$word" ||
		_psi_reply "--delay --cgroup --resource --sort --flat --filter --batch --json
			--openmetrics --output --once --count --rows --no-causes --tasks
			--no-color --ascii --pressure-dir --cgroup-dir --proc-dir --record
			--keep --quiet --replay --at --help" "$word"
}

# How many of RESOURCE, some|full, THRESHOLD and WINDOW there are already.
_psi_wait_words() {
	local i words=0
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-g | --cgroup | -t | --timeout | --pressure-dir | --cgroup-dir) ((++i)) ;;
		-*) ;;
		*) ((++words)) ;;
		esac
	done
	echo "$words"
}

_psi_wait() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} i
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} == -- ]]; then
			mapfile -t COMPREPLY < <(compgen -c -- "$word")
			return
		fi
	done
	_psi_value "$before" "$word" && return
	if [[ $word == -* ]]; then
		_psi_reply "--cgroup --timeout --repeat --quiet --pressure-dir --cgroup-dir
			--help --" "$word"
		return
	fi
	case $(_psi_wait_words) in
	0) _psi_reply "cpu memory io irq" "$word" ;;
	1) _psi_reply "some full" "$word" ;;
	2) _psi_reply "50ms 150ms 500ms 1s 5% 15% 50%" "$word" ;;
	3) _psi_reply "500ms 1s 2s 4s 6s 8s 10s" "$word" ;;
	*) _psi_reply "--cgroup --timeout --repeat --quiet --" "$word" ;;
	esac
}

complete -F _psitop psitop
complete -F _psi_wait psi-wait
