// SPDX-License-Identifier: GPL-2.0
/*
 * Numbers as bytes. The same functions write and read, so that one description of what is
 * stored does for both.
 *
 * A number is in groups of 7 bits, the lowest first, the highest bit of a byte meaning that
 * more follow. Zeros are counted: a byte 0, and how many follow the first.
 */
#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"

static void put_byte(struct stream *stream, uint8_t byte)
{
	if (stream->at == stream->size) {
		stream->size = 2 * stream->size + 4096;
		stream->byte = realloc(stream->byte, stream->size);
		if (!stream->byte)
			err(1, "no memory for a round");
	}
	stream->byte[stream->at++] = byte;
}

static void put(struct stream *stream, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put_byte(stream, value | 0x80);
	put_byte(stream, value);
}

static uint64_t get(struct stream *stream)
{
	uint64_t value = 0;
	unsigned int shift;
	uint8_t byte;

	for (shift = 0; shift < 64; shift += 7) {
		if (stream->at >= stream->size)
			break;
		byte = stream->byte[stream->at++];
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	stream->bad = true;
	return 0;
}

static void put_zeros(struct stream *stream)
{
	if (!stream->zeros)
		return;
	put(stream, 0);
	put(stream, stream->zeros - 1);
	stream->zeros = 0;
}

static uint64_t read_number(struct stream *stream)
{
	uint64_t value;

	if (stream->zeros) {
		stream->zeros--;
		return 0;
	}
	value = get(stream);
	if (!value && !stream->bad)
		stream->zeros = get(stream);
	return value;
}

/**
 * stream_number - write or read a number
 * @stream: where to
 * @value:  the number, if it is to be written
 *
 * Return: the number; 0 when reading what is not there.
 */
uint64_t stream_number(struct stream *stream, uint64_t value)
{
	if (stream->reading)
		return read_number(stream);
	if (!value) {
		stream->zeros++;
		return 0;
	}
	put_zeros(stream);
	put(stream, value);
	return value;
}

/**
 * stream_signed - write or read a number that may be negative
 * @stream: where to
 * @value:  the number, if it is to be written
 *
 * Return: the number.
 */
int64_t stream_signed(struct stream *stream, int64_t value)
{
	uint64_t coded = stream_number(stream, (uint64_t)value << 1 ^ (value < 0 ? -1ULL : 0));

	return coded >> 1 ^ (coded & 1 ? -1ULL : 0);
}

static uint64_t *value_at(struct numbers *numbers, size_t place)
{
	size_t nr = numbers->nr;

	if (place >= nr) {
		numbers->nr = 2 * nr > place ? 2 * nr : place + 64;
		numbers->value = reallocarray(numbers->value, numbers->nr, sizeof(uint64_t));
		if (!numbers->value)
			err(1, "no memory for a round");
		memset(numbers->value + nr, 0, (numbers->nr - nr) * sizeof(uint64_t));
	}
	return &numbers->value[place];
}

/**
 * stream_change - write or read a number by its difference from what it was
 * @stream: where to
 * @before: what numbers were; updated. What was not there before was 0.
 * @place:  which of them it is
 * @value:  the number, if it is to be written
 *
 * Return: the number.
 */
uint64_t stream_change(struct stream *stream, struct numbers *before, size_t place,
		       uint64_t value)
{
	uint64_t *last = value_at(before, place);

	*last += stream_signed(stream, value - *last);
	return *last;
}

/**
 * stream_end - write what is left to write
 * @stream: the stream, whose first @stream->at bytes are complete then
 */
void stream_end(struct stream *stream)
{
	put_zeros(stream);
}

/**
 * numbers_clear - forget what numbers were
 * @numbers: the numbers, which are 0 then
 */
void numbers_clear(struct numbers *numbers)
{
	free(numbers->value);
	*numbers = (struct numbers){ };
}
