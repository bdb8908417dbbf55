// SPDX-License-Identifier: GPL-2.0
/*
 * Ask the kernel by generic netlink how long tasks were delayed, and parse what it answers.
 *
 * struct taskstats grows with its version, and is not always that of the headers here. The
 * length of what comes tells what is in it.
 */
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "taskstats.h"

/* Their answers fit in the socket's buffer of the usual size at once. */
#define BATCH		32

const char *const delay_names[NR_DELAYS] = {
	"cpu", "blkio", "swapin", "reclaim", "thrashing", "compact", "wpcopy", "irq",
};

/* Of the totals in struct taskstats, also those that older headers lack. */
static const size_t offsets[NR_DELAYS] = {
	[DELAY_CPU]		= 24,
	[DELAY_BLKIO]		= 40,
	[DELAY_SWAPIN]		= 56,
	[DELAY_RECLAIM]		= 320,
	[DELAY_THRASHING]	= 336,
	[DELAY_COMPACT]		= 360,
	[DELAY_WPCOPY]		= 408,
	[DELAY_IRQ]		= 424,
};

#define SIZE_OF_VERSION_14	432

struct span {
	const char	*at;
	size_t		len;
};

/* Return: what the attribute has, which is nothing if it is not there, or is cut off. */
static struct span find_attribute(struct span in, int type)
{
	struct nlattr head;
	size_t step;

	while (in.len >= sizeof(head)) {
		memcpy(&head, in.at, sizeof(head));
		if (head.nla_len < sizeof(head) || head.nla_len > in.len)
			break;
		if ((head.nla_type & NLA_TYPE_MASK) == type)
			return (struct span){ in.at + NLA_HDRLEN, head.nla_len - NLA_HDRLEN };
		step = NLA_ALIGN(head.nla_len);
		if (step > in.len)
			break;
		in.at += step;
		in.len -= step;
	}
	return (struct span){ };
}

/* Return: 0, with what comes after the headers; or a negative errno. */
static int open_message(const void *message, size_t len, struct span *attributes)
{
	const size_t heads = NLMSG_HDRLEN + GENL_HDRLEN;
	struct nlmsghdr head;
	int error;

	if (len < sizeof(head))
		return -EBADMSG;
	memcpy(&head, message, sizeof(head));
	if (head.nlmsg_len > len || head.nlmsg_len < heads)
		return -EBADMSG;
	*attributes = (struct span){ (const char *)message + heads, head.nlmsg_len - heads };
	if (head.nlmsg_type != NLMSG_ERROR)
		return 0;
	/* The errno is where others have the second header. */
	memcpy(&error, (const char *)message + NLMSG_HDRLEN, sizeof(error));
	return error < 0 ? error : -EBADMSG;
}

/**
 * taskstats_parse - parse what the kernel answers about a task
 * @message: a netlink message, at any address
 * @len:     how much of it there is
 * @delays:  gets the totals that are in it, except that of DELAY_CPU
 *
 * Return: 0; or a negative errno, -EBADMSG if this is no such message, or is cut off.
 */
int taskstats_parse(const void *message, size_t len, struct delays *delays)
{
	size_t more = 0, at;
	uint16_t version;
	struct span in;
	int error, i;

	error = open_message(message, len, &in);
	if (error)
		return error;
	in = find_attribute(find_attribute(in, TASKSTATS_TYPE_AGGR_PID), TASKSTATS_TYPE_STATS);
	if (in.len < sizeof(version))
		return -EBADMSG;
	memcpy(&version, in.at, sizeof(version));
	/* Only version 15 has the longest delay, or also the shortest, behind each total. */
	if (version == 15 && in.len > SIZE_OF_VERSION_14)
		more = (in.len - SIZE_OF_VERSION_14) / NR_DELAYS;
	for (i = DELAY_BLKIO; i < NR_DELAYS; i++) {
		at = offsets[i] + i * more;
		if (at + sizeof(*delays->total_ns) > in.len)
			break;
		memcpy(&delays->total_ns[i], in.at + at, sizeof(*delays->total_ns));
		delays->known |= 1U << i;
	}
	return 0;
}

/* Append a request with one attribute to a buffer. */
static void add_request(char *buffer, size_t *used, unsigned int type, unsigned int sequence,
			int command, struct nlattr attribute, const void *value)
{
	const struct nlmsghdr head = {
		.nlmsg_len = NLMSG_HDRLEN + GENL_HDRLEN + NLA_ALIGN(attribute.nla_len),
		.nlmsg_type = type,
		.nlmsg_flags = NLM_F_REQUEST,
		.nlmsg_seq = sequence,
	};
	const struct genlmsghdr second = { .cmd = command, .version = 1 };
	char *to = buffer + *used;

	memset(to, 0, head.nlmsg_len);
	to = mempcpy(to, &head, sizeof(head));
	to = mempcpy(to, &second, sizeof(second));
	to = mempcpy(to, &attribute, sizeof(attribute));
	memcpy(to, value, attribute.nla_len - NLA_HDRLEN);
	*used += head.nlmsg_len;
}

static struct nlattr attribute_of(int type, size_t size)
{
	return (struct nlattr){ .nla_len = NLA_HDRLEN + size, .nla_type = type };
}

/* Return: 0, or a negative errno. */
static int find_family(struct taskstats_socket *taskstats)
{
	char buffer[4096];
	struct span in;
	uint16_t family;
	size_t used = 0;
	ssize_t len;
	int error;

	add_request(buffer, &used, GENL_ID_CTRL, 1, CTRL_CMD_GETFAMILY,
		    attribute_of(CTRL_ATTR_FAMILY_NAME, sizeof(TASKSTATS_GENL_NAME)),
		    TASKSTATS_GENL_NAME);
	if (send(taskstats->fd, buffer, used, 0) < 0)
		return -errno;
	len = recv(taskstats->fd, buffer, sizeof(buffer), MSG_DONTWAIT);
	if (len < 0)
		return -errno;
	error = open_message(buffer, len, &in);
	if (error)
		return error;
	in = find_attribute(in, CTRL_ATTR_FAMILY_ID);
	if (in.len < sizeof(family))
		return -EBADMSG;
	memcpy(&family, in.at, sizeof(family));
	taskstats->family = family;
	return 0;
}

static void stop(struct taskstats_socket *taskstats, int error)
{
	taskstats->error = error;
	if (taskstats->fd >= 0)
		close(taskstats->fd);
	taskstats->fd = -1;
}

/**
 * taskstats_open - get ready to ask
 * @taskstats: to be filled in; its error says why one cannot ask
 *
 * Whether it is permitted shows only in taskstats_read().
 */
void taskstats_open(struct taskstats_socket *taskstats)
{
	int error;

	taskstats->error = 0;
	taskstats->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	error = taskstats->fd < 0 ? -errno : find_family(taskstats);
	if (error)
		stop(taskstats, -error);
}

/* Take all answers. They are there when send() returns, as it runs the kernel's side. */
static void take_answers(struct taskstats_socket *taskstats, struct delays **delays, int nr)
{
	struct nlmsghdr head;
	char buffer[4096];
	ssize_t len;
	int error;

	while ((len = recv(taskstats->fd, buffer, sizeof(buffer), MSG_DONTWAIT)) >= 0) {
		if (len < (ssize_t)sizeof(head))
			continue;
		memcpy(&head, buffer, sizeof(head));
		if (head.nlmsg_seq < 1 || head.nlmsg_seq > (unsigned int)nr)
			continue;
		error = taskstats_parse(buffer, len, delays[head.nlmsg_seq - 1]);
		if (error == -EPERM) {
			stop(taskstats, EPERM);
			return;
		}
	}
}

/**
 * taskstats_read - ask for the delays of tasks
 * @taskstats: after taskstats_open()
 * @delays:    of each task, with its tid; gets the totals that the kernel tells
 * @nr:        number of tasks
 *
 * Of a task that went, nothing gets known. If it is not permitted, the error is EPERM
 * afterwards, and nothing more is asked.
 */
void taskstats_read(struct taskstats_socket *taskstats, struct delays **delays, int nr)
{
	char buffer[BATCH * 64];
	size_t used;
	int i;

	while (nr > 0 && taskstats->fd >= 0) {
		used = 0;
		for (i = 0; i < nr && i < BATCH; i++)
			add_request(buffer, &used, taskstats->family, i + 1, TASKSTATS_CMD_GET,
				    attribute_of(TASKSTATS_CMD_ATTR_PID, sizeof(uint32_t)),
				    &delays[i]->tid);
		if (send(taskstats->fd, buffer, used, 0) < 0) {
			stop(taskstats, errno);
			return;
		}
		take_answers(taskstats, delays, i);
		delays += i;
		nr -= i;
	}
}
