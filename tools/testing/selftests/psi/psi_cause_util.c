// SPDX-License-Identifier: GPL-2.0
/*
 * Memory in pressure.causes, for the PSI selftests. See psi_cause_util.h.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "psi_cause_util.h"

/* ---- the file ---- */

const char * const cause_names[NR_CAUSES] = {
	"direct_reclaim", "direct_compaction", "node_reclaim", "memcg_max", "memcg_high",
	"thrashing", "readback", "swapin", "blkcg_throttle", "other", "background_kswapd",
	"background_kcompactd", "requested_reclaim",
};

const char * const cpu_cause_names[NR_CPU_CAUSES] = { "contention", "quota" };

const struct causes nothing;

/* What was parsed is printed again: @text has to begin with it. What follows, or NULL. */
__printf(2, 3)
static const char *skip_line(const char *text, const char *format, ...)
{
	char line[128];
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	return strncmp(text, line, length) ? NULL : text + length;
}

const char *parse_causes(const char *text, struct causes *causes)
{
	struct cause_line *line;
	__u64 some, full;
	int c;

	for (c = 0; c < NR_CPU_CAUSES; c++) {
		if (sscanf(text, "cpu.%*s some=%llu full=%llu", &some, &full) != 2)
			return "a line is missing, or malformed";
		text = skip_line(text, "cpu.%s some=%llu full=%llu\n", cpu_cause_names[c], some,
				 full);
		if (!text)
			return "another name was expected, or not to the byte";
	}
	for (c = 0; c < NR_CAUSES; c++) {
		line = &causes->of[c];
		if (sscanf(text, "memory.%*s count=%llu total=%llu max=%llu", &line->count,
			   &line->total, &line->max) != 3)
			return "a line is missing, or malformed";
		text = skip_line(text, "memory.%s count=%llu total=%llu max=%llu\n",
				 cause_names[c], line->count, line->total, line->max);
		if (!text)
			return "another name was expected, or not to the byte";
		if (line->max > line->total && line->count == 1)
			return "one section, and longer than all of them";
	}
	return *text ? "more than the lines that belong here" : NULL;
}

struct causes read_causes(const char *group)
{
	char path[GROUP_PATH], text[2048];
	struct causes causes;
	const char *wrong;
	ssize_t length;

	group_file(path, group ?: CGROUP_ROOT, GROUP_FILE);
	length = read_text(path, text, sizeof(text));
	EXPECT(length > 0, "cannot read %s: %s", path, strerror(-length));
	wrong = parse_causes(text, &causes);
	EXPECT(!wrong, "%s: %s:\n%s", path, wrong, text);
	return causes;
}

const char *memory_group(const char *parent, const char *name)
{
	const char *group = make_group(parent, name);

	REQUIRE(!enable_controller(group, "+memory"), "needs the memory controller of cgroup2");
	return group;
}

/* ---- what has grown ---- */

bool is_less(const struct cause_line *line, const struct cause_line *before)
{
	return line->count < before->count || line->total < before->total ||
	       line->max < before->max;
}

struct causes expect_growth(const char *group, const struct causes *from,
			    unsigned int must, unsigned int may)
{
	struct causes to = read_causes(group);
	const struct cause_line *line, *was;
	bool grown;
	int c;

	for (c = 0; c < NR_CAUSES; c++) {
		line = &to.of[c];
		was = &from->of[c];
		if (memcmp(line, was, sizeof(*line)))
			psi_note("%s count +%llu total +%llu us, max %llu us", cause_names[c],
				 line->count - was->count, line->total - was->total, line->max);
	}
	for (c = 0; c < NR_CAUSES; c++) {
		grown = to.of[c].total > from->of[c].total;
		EXPECT(!is_less(&to.of[c], &from->of[c]), "%s goes backwards", cause_names[c]);
		EXPECT(grown || !(must & BIT(c)), "%s has not grown", cause_names[c]);
		EXPECT(!grown || (must | may) & BIT(c), "%s has grown", cause_names[c]);
	}
	return to;
}

bool all_have_grown(const char *group, const struct causes *from, unsigned int must)
{
	struct causes to = read_causes(group);
	int c;

	for (c = 0; c < NR_CAUSES; c++)
		if (must & BIT(c) && to.of[c].total == from->of[c].total)
			return false;
	return true;
}

/* ---- a load ---- */

static void read_file(void *arg)
{
	struct reader *r = arg;
	static char buf[64 * 1024];
	int fd = open(r->disk, O_RDONLY);
	size_t at;

	if (fd < 0)
		_exit(2);
	for (;;) {
		while (r->done >= r->passes)
			sleep_ms(1);
		for (at = 0; at < r->size; at += sizeof(buf))
			if (pread(fd, buf, sizeof(buf), at) != sizeof(buf))
				_exit(3);
		r->done++;
	}
}

void await(atomic_uint *done, unsigned int nr)
{
	EXPECT(wait_until(*done >= nr, 60000), "the load does not get on");
}

struct reader *start_reader(const char *group, unsigned int ms, size_t size,
			    unsigned int passes)
{
	struct reader *r = shared_alloc(sizeof(*r));

	r->disk = slow_disk(ms);
	REQUIRE(r->disk, "needs null_blk with configfs");
	r->size = size;
	r->passes = passes;
	start_in_group(group, 0, read_file, r);
	await(&r->done, passes);
	return r;
}
