# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Completion of ksamplingd-top for bash.

_ksamplingd_top() {
	local word=${COMP_WORDS[COMP_CWORD]} words
	COMPREPLY=()
	case ${COMP_WORDS[COMP_CWORD - 1]} in
	-d | --delay) words="100ms 200ms 500ms 1s 2s 5s" ;;
	-n | --count) return ;;
	--root) mapfile -t COMPREPLY < <(compgen -d -- "$word"); return ;;
	*) words="--delay --batch --json --once --count --root --no-color --ascii --help" ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -o filenames -F _ksamplingd_top ksamplingd-top
