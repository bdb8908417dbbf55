// SPDX-License-Identifier: GPL-2.0
/*
 * Files to which records are appended, and which survive a crash.
 *
 * A record is a head, and compressed bytes. The sum in the head tells whether both are as
 * they were written. Where they are not, records begin again with the next magic number.
 * Records of the kind CHANGE are of use only if the one before is there.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "journal.h"

#define MAGIC		"PSI1"
/* No round is larger. */
#define MAX_SIZE	(64 << 20)

/* All in little-endian byte order. */
struct head {
	char		magic[4];
	uint32_t	sum;		/* of all that follows */
	uint32_t	kind;
	uint32_t	size;		/* of the compressed bytes */
	uint32_t	full_size;	/* when they are not compressed any more */
	uint32_t	zero;
	uint64_t	date_us;
};

#define READ_FLAGS	(O_RDONLY | O_NONBLOCK | O_CLOEXEC)
#define SUM_BEGIN	offsetof(struct head, kind)

static uint32_t sum_of(const struct head *head, const uint8_t *byte, size_t size)
{
	uint32_t sum = crc32(0, (const uint8_t *)head + SUM_BEGIN, sizeof(*head) - SUM_BEGIN);

	return htole32(crc32(sum, byte, size));
}

/* Return: the bytes of a record, to be freed; NULL if it is not complete. */
static uint8_t *load(int fd, off_t offset, struct head *head)
{
	uint8_t *byte;
	size_t size;

	if (pread(fd, head, sizeof(*head), offset) != sizeof(*head) ||
	    memcmp(head->magic, MAGIC, sizeof(head->magic)))
		return NULL;
	size = le32toh(head->size);
	if (size > MAX_SIZE || le32toh(head->full_size) > MAX_SIZE ||
	    le32toh(head->kind) >= NR_RECORD_KINDS)
		return NULL;
	byte = malloc(size + 1);
	if (byte && pread(fd, byte, size, offset + sizeof(*head)) == (ssize_t)size &&
	    sum_of(head, byte, size) == head->sum)
		return byte;
	free(byte);
	return NULL;
}

/* Return: where the next magic number is; -1 if there is none. */
static off_t find_magic(int fd, off_t offset)
{
	char text[65536], *found;
	ssize_t len;

	while ((len = pread(fd, text, sizeof(text), offset)) >= (ssize_t)strlen(MAGIC)) {
		found = memmem(text, len, MAGIC, strlen(MAGIC));
		if (found)
			return offset + (found - text);
		offset += len - strlen(MAGIC) + 1;
	}
	return -1;
}

static bool add_record(struct journal *journal, const struct record *record)
{
	struct record *all = journal->record;

	if (journal->nr == journal->max) {
		journal->max = 2 * journal->max + 1024;
		all = reallocarray(all, journal->max, sizeof(*all));
		if (!all)
			return false;
		journal->record = all;
	}
	all[journal->nr++] = *record;
	return true;
}

/* List the records of a file. Sets journal->end. Return: false if there is no memory. */
static bool list(struct journal *journal, int file)
{
	struct record record = { .file = file };
	bool complete = false;		/* all before, back to a whole round */
	int fd = journal->fd[file];
	struct head head;
	uint8_t *byte;

	journal->end = 0;
	while (fd >= 0 && record.offset >= 0) {
		byte = load(fd, record.offset, &head);
		if (!byte) {
			complete = false;
			record.offset = find_magic(fd, record.offset + 1);
			continue;
		}
		free(byte);
		record.size = sizeof(head) + le32toh(head.size);
		record.kind = le32toh(head.kind);
		record.date_us = le64toh(head.date_us);
		complete |= record.kind != CHANGE;
		if (complete && !add_record(journal, &record))
			return false;
		record.offset += record.size;
		journal->end = record.offset;
	}
	return true;
}

/* Return: what is wrong with a file that was opened; NULL if it can be a journal. */
static const char *fault(int fd)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return errno == EWOULDBLOCK ? "another psitop records into this file" :
					      strerror(errno);
	/* Others may have no end. */
	return S_ISREG(st.st_mode) ? NULL : "not a regular file";
}

static bool name_files(struct journal *journal, const char *name)
{
	*journal = (struct journal){ .name = name, .fd = { -1, -1 } };
	return asprintf(&journal->old_name, "%s.old", name) >= 0;
}

/**
 * journal_read - open the files for reading, and list their records
 * @journal: to be filled in
 * @name:    name of the newer file
 *
 * Return: NULL, or what is wrong.
 */
const char *journal_read(struct journal *journal, const char *name)
{
	const char *wrong;

	if (!name_files(journal, name))
		return strerror(errno);
	journal->fd[1] = open(journal->name, READ_FLAGS);
	wrong = fault(journal->fd[1]);
	if (wrong)
		return wrong;
	/* There need not be an older one. */
	journal->fd[0] = open(journal->old_name, READ_FLAGS);
	if (fault(journal->fd[0]))
		journal->fd[0] = -1;
	if (!list(journal, 0) || !list(journal, 1))
		return strerror(errno);
	return NULL;
}

/**
 * journal_load - read a record
 * @journal: after journal_read()
 * @i:       index of the record
 * @size:    gets the number of bytes
 *
 * Return: the bytes, which the caller frees; NULL if they cannot be read any more.
 */
uint8_t *journal_load(const struct journal *journal, size_t i, size_t *size)
{
	const struct record *record = &journal->record[i];
	uint8_t *packed, *byte = NULL;
	struct head head;
	unsigned long full_size;

	packed = load(journal->fd[record->file], record->offset, &head);
	if (!packed)
		return NULL;
	full_size = le32toh(head.full_size);
	byte = malloc(full_size + 1);
	if (byte && uncompress(byte, &full_size, packed, le32toh(head.size)) != Z_OK) {
		free(byte);
		byte = NULL;
	}
	*size = full_size;
	free(packed);
	return byte;
}

/* Return: the file, which is ours alone; -1 with errno set. */
static int open_locked(const char *name)
{
	int fd = open(name, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	int error;

	if (fd < 0 || !flock(fd, LOCK_EX | LOCK_NB))
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

/* Does the file begin as a record does, or with as much as was written of one? */
static bool is_journal(int fd)
{
	char magic[4];
	ssize_t len = pread(fd, magic, sizeof(magic), 0);

	return len >= 0 && !memcmp(magic, MAGIC, len);
}

/**
 * journal_extend - open the newer file for appending
 * @journal: to be filled in
 * @name:    name of the file
 *
 * A record at the end that is not complete is cut off. From then on, journal->nr is the number
 * of records in the file, and they are not listed.
 *
 * Return: NULL, or what is wrong.
 */
const char *journal_extend(struct journal *journal, const char *name)
{
	const char *wrong;

	if (!name_files(journal, name))
		return strerror(errno);
	journal->fd[1] = open_locked(name);
	wrong = fault(journal->fd[1]);
	if (wrong)
		return wrong;
	if (!list(journal, 1))
		return strerror(errno);
	if (!journal->nr && !is_journal(journal->fd[1]))
		return "not a record of psitop, which would overwrite it";
	if (ftruncate(journal->fd[1], journal->end))
		return strerror(errno);
	free(journal->record);
	journal->record = NULL;
	return NULL;
}

static bool write_all(int fd, const uint8_t *byte, size_t size)
{
	ssize_t len;

	for (; size; byte += len, size -= len) {
		len = write(fd, byte, size);
		if (len < 0)
			return false;
	}
	return true;
}

/**
 * journal_append - append a record
 * @journal: after journal_extend()
 * @kind:    what it is
 * @date_us: its date
 * @byte:    what it has
 * @size:    number of bytes
 *
 * Return: true on success; false with errno set.
 */
bool journal_append(struct journal *journal, enum record_kind kind, uint64_t date_us,
		    const uint8_t *byte, size_t size)
{
	/* More than zlib needs for what cannot be compressed. */
	unsigned long packed_size = size + size / 8 + 128;
	uint8_t *record = calloc(1, sizeof(struct head) + packed_size);
	struct head *head = (struct head *)record;
	bool done;

	if (!record || compress(record + sizeof(*head), &packed_size, byte, size) != Z_OK) {
		free(record);
		errno = ENOMEM;
		return false;
	}
	memcpy(head->magic, MAGIC, sizeof(head->magic));
	head->kind = htole32(kind);
	head->size = htole32(packed_size);
	head->full_size = htole32(size);
	head->date_us = htole64(date_us);
	head->sum = sum_of(head, record + sizeof(*head), packed_size);
	done = write_all(journal->fd[1], record, sizeof(*head) + packed_size);
	free(record);
	journal->nr++;
	return done;
}

/**
 * journal_sync - wait until all records are on the disk
 * @journal: after journal_extend()
 *
 * Return: true on success; false with errno set.
 */
bool journal_sync(struct journal *journal)
{
	return !fdatasync(journal->fd[1]);
}

/**
 * journal_rotate - let the newer file become the older one, and begin another
 * @journal: after journal_extend()
 *
 * Return: true on success; false with errno set.
 */
bool journal_rotate(struct journal *journal)
{
	int fd;

	if (rename(journal->name, journal->old_name))
		return false;
	fd = open_locked(journal->name);
	if (fd < 0)
		return false;
	close(journal->fd[1]);
	journal->fd[1] = fd;
	journal->nr = 0;
	return true;
}
