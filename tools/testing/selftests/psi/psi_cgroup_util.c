// SPDX-License-Identifier: GPL-2.0
/*
 * Groups of cgroup2 for the PSI selftests. See psi_cgroup_util.h.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>

#include "psi_cgroup_util.h"

#define TOP_GROUP	CGROUP_ROOT "/psi_groups"

#define MAX_WATCHED	64
#define MAX_NOTES	8	/* of more than that, only what is wrong */

/* ---- groups ---- */

bool have_groups(void)
{
	return !access(CGROUP_ROOT "/cgroup.controllers", F_OK) &&
	       !access("/proc/pressure", F_OK) &&
	       !booted_with("cgroup_disable=pressure");
}

static void remove_groups_of_case(void)
{
	int ret = remove_all_groups();

	if (ret)
		psi_note("groups are left: %s", strerror(-ret));
}

const char *top_group(void)
{
	if (!access(TOP_GROUP, F_OK))
		return TOP_GROUP;
	REQUIRE(have_groups(), NO_GROUPS);
	undo_later(remove_groups_of_case);
	EXPECT(!mkdir(TOP_GROUP, 0755), "cannot make %s: %s", TOP_GROUP,
	       strerror(errno));
	return TOP_GROUP;
}

/* The path is never freed: there are few, and the program is a short one. */
const char *make_group(const char *parent, const char *name)
{
	char path[GROUP_PATH];
	char *group;

	group_file(path, parent ? parent : top_group(), name);
	group = strdup(path);
	EXPECT(group && !mkdir(group, 0755), "cannot make %s: %s", path,
	       strerror(errno));
	return group;
}

int remove_group(const char *group)
{
	int tries;

	for (tries = 0; tries < 1000; tries++) {
		if (!rmdir(group))
			return 0;
		if (errno != EBUSY)
			return -errno;
		sleep_ms(10);
	}
	return -EBUSY;
}

/* Whatever is below it as well. */
static int remove_tree(const char *group)
{
	char path[GROUP_PATH];
	struct dirent *entry;
	int ret = 0;
	DIR *dir;

	dir = opendir(group);
	if (!dir)
		return -errno;
	while (!ret && (entry = readdir(dir))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		ret = remove_tree(group_file(path, group, entry->d_name));
	}
	closedir(dir);
	return ret ? ret : remove_group(group);
}

int remove_all_groups(void)
{
	if (access(TOP_GROUP, F_OK))
		return 0;
	set_cgroup(TOP_GROUP, "cgroup.kill", "1");
	return remove_tree(TOP_GROUP);
}

/* From the root downwards: every level has to hand it on to the next. */
int enable_controller(const char *group, const char *controller)
{
	char path[GROUP_PATH];
	size_t at;
	int ret;

	snprintf(path, sizeof(path), "%s", group);
	for (at = strlen(CGROUP_ROOT); path[at]; at += strcspn(path + at, "/")) {
		path[at] = '\0';
		ret = set_cgroup(path, "cgroup.subtree_control", controller);
		if (ret)
			return ret;
		path[at++] = '/';
	}
	return 0;
}

/* ---- their files ---- */

const char *group_file(char *path, const char *group, const char *file)
{
	if (snprintf(path, GROUP_PATH, "%s/%s", group, file) >= GROUP_PATH)
		path[0] = '\0';		/* which is nowhere */
	return path;
}

int open_in_group(const char *group, const char *file, int flags)
{
	char path[GROUP_PATH];
	int fd = open(group_file(path, group, file), flags);

	return fd < 0 ? -errno : fd;
}

int open_group(const char *group, enum psi_resource res, int flags)
{
	char file[32];

	snprintf(file, sizeof(file), "%s.pressure", psi_name(res));
	return open_in_group(group, file, flags);
}

int read_group(const char *group, enum psi_resource res,
	       struct psi_sample *sample)
{
	int fd = open_group(group, res, O_RDONLY);
	int ret;

	if (fd < 0)
		return fd;
	ret = psi_read_fd(fd, res, sample);
	close(fd);
	return ret;
}

int nr_resources(const char *group)
{
	struct psi_sample sample;
	int ret = read_group(group, PSI_IRQ, &sample);

	return ret == -ENOENT ? PSI_IRQ : PSI_NR_RESOURCES;
}

int set_pressure(const char *group, bool on)
{
	return set_cgroup(group, "cgroup.pressure", on ? "1" : "0");
}

void must_switch(const char *group, bool on)
{
	int ret = set_pressure(group, on);

	EXPECT(!ret, "cannot switch %s %s: %s", group, on ? "on" : "off",
	       strerror(-ret));
}

void switch_root_on(void)
{
	set_pressure(CGROUP_ROOT, true);
	remove_all_groups();
}

/* ---- triggers ---- */

int add_trigger(const char *group, enum psi_resource res, const char *trigger)
{
	int fd = open_group(group, res, O_RDWR);
	int error;

	if (fd < 0 || write(fd, trigger, strlen(trigger)) >= 0)
		return fd;
	error = errno;
	close(fd);
	return -error;
}

int wait_by_poll(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLPRI };

	return poll(&p, 1, ms) == 1 ? p.revents : 0;
}

int wait_by_epoll(int fd, int ms)
{
	struct epoll_event event = { .events = EPOLLPRI };
	int happened = 0;
	int epfd;

	epfd = epoll_create1(0);
	if (epfd < 0 || epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &event))
		return 0;
	if (epoll_wait(epfd, &event, 1, ms) == 1)
		happened = event.events;
	if (epoll_ctl(epfd, EPOLL_CTL_DEL, fd, NULL))
		happened = 0;
	close(epfd);
	return happened;
}

int wait_by_select(int fd, int ms)
{
	struct timeval timeout = {
		.tv_sec = ms / 1000,
		.tv_usec = ms % 1000 * 1000,
	};
	struct pollfd p = { .fd = fd, .events = POLLPRI };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	if (select(fd + 1, NULL, NULL, &set, &timeout) != 1)
		return 0;
	/* It has taken the event, if there was one. */
	return POLLPRI | (poll(&p, 1, 0) == 1 ? p.revents : 0);
}

/* ---- tasks in them ---- */

static int move(const char *group, const char *file, pid_t id)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", id);
	return set_cgroup(group, file, text);
}

int move_to_group(const char *group, pid_t pid)
{
	return move(group, "cgroup.procs", pid);
}

int move_thread_to_group(const char *group, pid_t tid)
{
	return move(group, "cgroup.threads", tid);
}

void must_move(const char *group, pid_t pid)
{
	int ret = move_to_group(group, pid);

	EXPECT(!ret, "cannot move to %s: %s", group, strerror(-ret));
}

struct start {
	void (*fn)(void *arg);
	void *arg;
	int pipe[2];		/* what comes through it says that the group is the right one */
};

static void run_when_there(void *start)
{
	const struct start *s = start;
	char c;

	close(s->pipe[1]);
	if (read(s->pipe[0], &c, 1) != 1)
		_exit(1);
	close(s->pipe[0]);
	s->fn(s->arg);
}

pid_t start_in_group(const char *group, int cpu, void (*fn)(void *arg),
		     void *arg)
{
	struct start s = { .fn = fn, .arg = arg };
	pid_t pid;
	int ret;

	EXPECT(!pipe(s.pipe), "no pipe");
	pid = start_load(cpu, run_when_there, &s);
	ret = move_to_group(group, pid);
	if (!ret && write(s.pipe[1], "", 1) != 1)
		ret = -errno;
	close(s.pipe[0]);
	close(s.pipe[1]);

	EXPECT(!ret, "a load cannot be moved to %s: %s", group, strerror(-ret));
	return pid;
}

void start_spinners(const char *group, int count)
{
	while (count--)
		start_in_group(group, 0, spin, NULL);
}

pid_t start_held_back(int cpu, const char *group, const char *limited)
{
	struct memory_user user = { .cgroup = group, .size = 32UL << 20, .grow = true };
	pid_t pid;

	REQUIRE(!enable_controller(group, "+memory"), "needs the memory controller of cgroup2");
	pid = start_memory_user(cpu, &user);
	await_memory_user(&user);
	/* The farther over the limit, the longer it is held back. */
	EXPECT(!set_cgroup(limited, "memory.high", "4M"), "memory.high");
	sleep_ms(1000);
	return pid;
}

/* ---- trace events ---- */

void stop_tracing(void)
{
	int fd;

	write_text(PSI_EVENTS "enable", "0");
	write_text(PSI_EVENTS "filter", "0");
	/* That empties it. */
	fd = open(TRACING "trace", O_WRONLY | O_TRUNC);
	if (fd >= 0)
		close(fd);
}

void need_tracing(void)
{
	mount("tracefs", TRACING, "tracefs", 0, NULL);
	REQUIRE(!access(PSI_EVENTS "enable", W_OK), "needs trace events");
	undo_later(stop_tracing);
	stop_tracing();
}

__u64 group_id(const char *group)
{
	struct stat st;

	EXPECT(!stat(group, &st), "no %s", group);
	return st.st_ino;
}

/* ---- what they show ---- */

void watch_from_afar(void)
{
	pin_to_cpu(online_cpus() - 1);
}

void settle(void)
{
	sleep_ms(200);
}

/* Without the directories that all groups are in. */
static const char *short_name(const char *group)
{
	size_t length = strlen(TOP_GROUP);

	if (!strncmp(group, TOP_GROUP "/", length + 1))
		return group + length + 1;
	return group;
}

static void must_read(const char *group, enum psi_resource res,
		      struct psi_sample *sample)
{
	int ret = read_group(group, res, sample);

	EXPECT(!ret, "cannot read %s pressure of %s: %s", psi_name(res),
	       short_name(group), strerror(-ret));
}

void expect_shares(const struct expected *e, size_t count, unsigned int ms,
		   double tolerance)
{
	static struct psi_sample from[MAX_WATCHED], to[MAX_WATCHED];
	struct psi_share share;
	size_t i, wrong = 0;
	bool good;

	EXPECT(count <= MAX_WATCHED, "too many to watch");
	for (i = 0; i < count; i++)
		must_read(e[i].group, e[i].res, &from[i]);
	sleep_ms(ms);
	for (i = 0; i < count; i++)
		must_read(e[i].group, e[i].res, &to[i]);

	for (i = 0; i < count; i++) {
		share = psi_share(&from[i], &to[i]);
		good = close_to(share.some, e[i].some, tolerance) &&
		       close_to(share.full, e[i].full, tolerance);
		if (!good || count <= MAX_NOTES)
			psi_note("%s: %s some %.2f %% full %.2f %% of %.2f s",
				 short_name(e[i].group), psi_name(e[i].res),
				 share.some, share.full, share.seconds);
		if (good)
			continue;
		psi_note("expected some %.1f %% full %.1f %% +- %.1f",
			 e[i].some, e[i].full, tolerance);
		wrong++;
	}
	EXPECT(!wrong, "%zu of %zu are wrong", wrong, count);
}

void expect_share(const char *group, enum psi_resource res, double some,
		  double full, unsigned int ms, double tolerance)
{
	const struct expected e = { group, res, some, full };

	expect_shares(&e, 1, ms, tolerance);
}

static void expect_same(const char *group, enum psi_resource res,
			const struct psi_sample *was)
{
	struct psi_sample is;

	must_read(group, res, &is);
	EXPECT(is.some.total == was->some.total &&
	       is.full.total == was->full.total,
	       "%s pressure of %s goes on: some %lld us full %lld us",
	       psi_name(res), short_name(group),
	       is.some.total - was->some.total,
	       is.full.total - was->full.total);
}

void expect_all_still(const char * const *groups, size_t count)
{
	static struct psi_sample was[MAX_WATCHED][PSI_NR_RESOURCES];
	int res;
	size_t i;

	EXPECT(count <= MAX_WATCHED, "too many to watch");
	/* A killed task is reaped some time before it leaves its CPU. */
	sleep_ms(20 * psi_slowness());
	for (i = 0; i < count; i++)
		for (res = 0; res < nr_resources(groups[i]); res++)
			must_read(groups[i], res, &was[i][res]);
	sleep_ms(500);
	for (i = 0; i < count; i++)
		for (res = 0; res < nr_resources(groups[i]); res++)
			expect_same(groups[i], res, &was[i][res]);
}

void expect_still(const char *group)
{
	expect_all_still(&group, 1);
}
