// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a program that sees its own cgroup as the root, and the pressure of that in
 * /proc/pressure: psi_unshare PROGRAM [ARGUMENT]...
 *
 * It does what unshare --cgroup --mount does, and mounts /proc with pressure=cgroup.
 */
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: %s PROGRAM [ARGUMENT]...\n", argv[0]);
		return 2;
	}
	if (unshare(CLONE_NEWCGROUP | CLONE_NEWNS)) {
		perror("unshare");
		return 1;
	}
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("proc", "/proc", "proc", 0, "pressure=cgroup")) {
		perror("mount");
		return 1;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 1;
}
