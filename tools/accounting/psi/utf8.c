// SPDX-License-Identifier: GPL-2.0
/*
 * Names may have any bytes, but JSON and metrics only valid characters.
 */
#include <string.h>

#include "output.h"

/* Return: the length of the character at @text in bytes; 0 if it is not valid UTF-8. */
static int utf8_length(const unsigned char *text)
{
	int len = *text < 0x80 ? 1 : *text < 0xc2 ? 0 : *text < 0xe0 ? 2 : *text < 0xf0 ? 3 :
		  *text < 0xf5 ? 4 : 0;
	int i;

	for (i = 1; i < len; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	}
	/* Overlong, a surrogate, or above U+10FFFF. */
	if ((*text == 0xe0 && text[1] < 0xa0) || (*text == 0xed && text[1] > 0x9f) ||
	    (*text == 0xf0 && text[1] < 0x90) || (*text == 0xf4 && text[1] > 0x8f))
		return 0;
	return len;
}

/**
 * valid_utf8 - replace bytes that are not valid UTF-8
 * @text:  any bytes, at most PATH_MAX
 * @valid: buffer of VALID_SIZE
 *
 * Return: @valid.
 */
const char *valid_utf8(const char *text, char *valid)
{
	static const char replacement[] = "\xef\xbf\xbd";
	char *to = valid;
	int len;

	for (; *text && to - valid < VALID_SIZE - 4; text += len ?: 1) {
		len = utf8_length((const unsigned char *)text);
		if (len)
			to = mempcpy(to, text, len);
		else
			to = mempcpy(to, replacement, strlen(replacement));
	}
	*to = '\0';
	return valid;
}
