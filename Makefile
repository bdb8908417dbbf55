# SPDX-License-Identifier: GPL-2.0
# The commands that people type. What they do is in scripts/, and every script
# says with --help what it is for. All output goes to build/, and what
# other clones can use as well to ~/.cache/pressure.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# BASE=6.12 for the longterm kernel (scripts/series --help)
export BASE

image := arch/x86/boot/bzImage
step := scripts/step
part := scripts/step --test
tally = scripts/tally $(1:%=build/test/%.tap)

# What "make test" consists of, and "make test-full". A part leaves its results in
# build/test/PART.tap.
PARTS ?= check lab series tools selftest seed longterm
FULL_PARTS ?= check lab series tools selftest seed longterm abi pebs debug kasan default-off apply patch prefixes kunit mutations
# Parts do not wait for each other, but for what they need: with two CPUs, checks and tools
# are done while the kernel is compiled, and guests run while the next one is.
JOBS ?= 3
CHECK ?= $(if $(FULL),,--quick)

help: ## show these commands
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 17

run: kernel ## boot our kernel in QEMU: pressure rises and falls, ksamplingd finds hot pages
	@scripts/demo

pebs: pebs-guest ## ksamplingd at work on an emulated processor that has PEBS
	@scripts/demo --pebs

container: kernel ## what programs of Debian see in containers of systemd-nspawn
	@scripts/container

shell: kernel ## boot the same kernel to a prompt
	@scripts/boot --interactive --kernel build/obj/$(image) \
		--initrd build/initramfs.cpio --append test=shell

test: ## what must hold for each change: 20 to 30 minutes (PARTS="check tools")
	@rm -rf build/test
	@$(MAKE) --no-print-directory --keep-going -j$(JOBS) $(PARTS:%=test-%) || true
	@$(call tally,$(PARTS)) | tee build/test/summary

test-full: ## nearly all there is: an hour or two, before a release (FULL_PARTS="pebs kasan" for some)
	@$(MAKE) --no-print-directory test JOBS=1 FULL=--full CHECK=--full PARTS="$(FULL_PARTS)"

soak: kernel ## many seeds: GUEST=kunit,races SEEDS=2-101 ONLY=R-14 (scripts/soak --help)
	@scripts/soak $(if $(SEEDS),--seeds $(SEEDS)) $(if $(GUEST),--guest $(GUEST)) \
		$(if $(ONLY),--only $(ONLY))

check: ## checkpatch, sparse, W=1, kernel-doc, shellcheck on our files
tools: ## psitop, psi-wait and ksamplingd-top, on made-up files
kunit: ## the unit tests alone, under user-mode Linux: seconds once they are built
selftest: ## the tests in virtual machines, all of them
prefixes: ## build and boot after each patch of the series: 20 minutes, before it is sent
mutations: ## break one place after the other: do the unit tests notice? ten minutes
mutations-guest: ## the same in a guest: does a kernel with PSI_DEBUG notice? an hour
check tools kunit selftest prefixes mutations mutations-guest:
	@rm -f build/test/$@.tap
	@$(MAKE) --no-print-directory test-$@ FULL=--full || true
	@$(call tally,$@)

test-base: base-kernel ## the cases that the base's own PSI has to fail
	@scripts/initramfs build/tree build/initramfs.cpio
	@scripts/selftest --base

test-abi: kernel base-kernel
	@$(part) abi "the interface, beside the base's" scripts/test/abi

test-debug: debug-kernel ## groups and triggers made, moved and removed all at once, under lockdep
	@$(part) debug "races under lockdep" scripts/selftest --debug $(FULL)

test-kasan: kasan-kernel ## the same under KASAN and lockdep
	@$(part) kasan "races under KASAN and lockdep" scripts/selftest --kasan $(FULL)

test-pebs: pebs-guest
	@$(part) pebs "ksamplingd on a processor with PEBS" scripts/selftest --pebs $(FULL)

pebs-hour: pebs-guest ## ksamplingd on that processor for an hour of guest time: no stray NMI
	@scripts/boot --pebs skylake --icount=4 --cpus 2 --mem 1536 --timeout 5400 \
		--kernel build/obj/$(image) --initrd build/pebs.cpio \
		--append "quiet psi=1 test=ks_pebs only=R-20 ks_hours=1 limit=7200" | tee build/pebs-hour.log
	@! grep -q '^not ok' build/pebs-hour.log && grep -q '^ok.*hours without' build/pebs-hour.log

# Our initramfs, and programs of Debian.
pebs-guest: kernel
	@$(step) --of 1000 qemu "QEMU with PEBS" scripts/qemu/build
	@$(step) programs "programs of Debian" scripts/programs build/programs.cpio
	@cat build/programs.cpio build/initramfs.cpio >build/pebs.cpio

variants: kernel ## build and boot the kernel as users configure it (RT, ...), and run the stress tests
	@scripts/variants

bench: kernel ## what PSI costs (the base's own, none, ours), and all other measurements
	@scripts/setup gnuplot-nox
	@scripts/bench
	@scripts/bench.d/ksamplingd
	@$(MAKE) --no-print-directory bench-pebs bench-tiers
	@scripts/figures

bench-pebs: pebs-guest ## how well ksamplingd samples programs of Debian
	@scripts/setup gnuplot-nox
	@scripts/bench.d/pebs

bench-tiers: pebs-guest ## what promotion achieves, beside NUMA balancing
	@scripts/setup gnuplot-nox
	@scripts/bench.d/tiers

tree: setup ## build/tree: the base and our commits on it
	@$(step) tree "kernel source with the series" scripts/series tree
	@grep -hE 'to be had|takes its place' build/log/tree.log || true

refresh: ## what was committed in build/tree becomes our files
	@scripts/series refresh

kernel: initramfs ## build our kernel
	@$(step) --of 1500 kernel "kernel" env KEEP=yes scripts/kernel build/tree build/obj

initramfs: tree
	@$(step) initramfs "initramfs" scripts/initramfs build/tree build/initramfs.cpio

base-kernel: tree
	@scripts/series checkout refs/tags/base build/base/tree
	@$(step) --of 1300 base-kernel "kernel of the base" \
		scripts/kernel build/base/tree build/base/obj

debug-kernel: initramfs
	@$(step) --of 1400 debug-kernel "kernel with lockdep" \
		env KEEP=yes EXTRA_CONFIG="$$(cat scripts/debug.config)" \
		scripts/kernel build/tree build/debug

kasan-kernel: initramfs
	@$(step) --of 1400 kasan-kernel "kernel with KASAN and lockdep" \
		env EXTRA_CONFIG="$$(cat scripts/debug.config scripts/kasan.config)" \
		scripts/kernel build/tree build/kasan

series: tree ## build/series: patches to send, with a cover letter
	@$(step) series "patches to send" scripts/series mail

patch: tree ## build/patch: all in one file, for patch (BASES=all: for every 6.12.y of Debian)
	@$(part) patch "patch files" scripts/test/patch --keep $(BASES) || true
	@$(call tally,patch)
	@ls -1d build/patch/*

# Debian's configuration of 7.3 has not been tried.
deb test-deb test-debian release: export BASE = 6.12

deb: tree ## FLAVOUR=cloud-amd64|amd64|rt-amd64: packages beside Debian's kernels
	@scripts/deb $(FLAVOUR)

test-deb: deb ## install them in a Debian 12, boot, and remove them
	@$(part) deb "packages in a Debian 12" scripts/test/deb $(FLAVOUR) || true
	@$(call tally,deb)

test-debian: tree ## run programs of Debian there, with its kernel and with ours: an hour or more
	@scripts/deb cloud-amd64
	@$(part) debian "programs of Debian with both kernels" scripts/test/debian || true
	@$(call tally,debian)

deb-tools: ## packages of psitop, psi-wait and ksamplingd-top alone, for any kernel: a minute
	@scripts/deb-tools

test-deb-tools: deb-tools ## install, use and remove them in a Debian 12 and a Debian 13
	@$(part) deb-tools "packages of the tools" scripts/test/deb-tools || true
	@$(part) static-tools "static programs, kernels of Debian" scripts/test/static-tools || true
	@$(call tally,deb-tools static-tools)

release: deb ## build/release: what a version consists of, with checksums
	@$(MAKE) --no-print-directory patch BASES=all
	@scripts/release

apply: ## KSRC=DIR: put the commits onto a git tree of yours (7.3.y, 6.12.y)
	@scripts/series apply "$(KSRC)"

clean: ## delete build/
	rm -rf build

setup:
	@scripts/setup

test-check: series
	@$(part) check "checks of our files" scripts/check $(CHECK)

test-lab:
	@$(part) lab "what counts results" scripts/test/lab

test-series: setup
	@$(part) series "from our files to commits, and back" scripts/test/series

test-tools: tree
	@$(if $(FULL),scripts/setup bpftrace groff-base man-db tmux)
	@$(part) tools "psitop, psi-wait, ksamplingd-top" \
		scripts/test/tools $(if $(FULL),,--no-terminal)

test-kunit: tree
	@$(part) kunit "unit tests" scripts/kunit

test-selftest: kernel
	@$(part) selftest "tests in the guest" scripts/selftest $(FULL)

test-seed: kernel
	@$(part) seed "a guest is a function of its seed" scripts/test/seed

test-longterm: kernel
	@$(part) longterm "6.12 from the same files, under lockdep" scripts/test/longterm

test-default-off: debug-kernel
	@$(part) default-off "psi= where the default is off" \
		scripts/selftest --default-off --only R-10 --guest one-cpu,default

test-apply: tree
	@$(part) apply "the series on every base" scripts/test/apply

test-patch: tree
	@$(part) patch "patch files" scripts/test/patch $(BASES)

test-mutations: tree
	@$(part) mutations "what is broken on purpose" scripts/test/mutations

test-mutations-guest: kernel
	@$(part) mutations-guest "accounting that is broken on purpose" scripts/test/mutations --guest

test-prefixes: kernel
	@$(part) prefixes "each patch builds and boots" scripts/test/prefixes

.PHONY: help run container pebs pebs-guest pebs-hour shell test test-full soak check tools kunit selftest \
	prefixes mutations mutations-guest test-base bench bench-pebs bench-tiers variants tree kernel initramfs \
	base-kernel debug-kernel kasan-kernel series patch deb test-deb deb-tools test-deb-tools test-debian \
	release apply clean setup refresh test-lab test-series test-check test-kunit test-selftest test-debug test-kasan test-default-off test-apply \
	test-patch test-prefixes test-mutations test-mutations-guest test-pebs test-seed test-abi test-longterm test-tools
