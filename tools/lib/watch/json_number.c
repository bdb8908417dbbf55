// SPDX-License-Identifier: GPL-2.0
/*
 * Numbers in JSON, with as many digits as they are good for.
 */
#include <stdio.h>

#include "json_number.h"

/**
 * json_add_double - add a number with two decimals
 * @object: what gets it
 * @key:    under which name
 * @value:  the number
 */
void json_add_double(json_object *object, const char *key, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.2f", value);
	json_object_object_add(object, key, json_object_new_double_s(value, text));
}

/**
 * json_add_rate - add what grows in a second
 * @object: what gets it
 * @key:    under which name
 * @rate:   the growth; negative if it is not known, which makes it null
 * @unit:   in which it is to be told
 */
void json_add_rate(json_object *object, const char *key, double rate, double unit)
{
	if (rate < 0)
		json_object_object_add(object, key, NULL);
	else
		json_add_double(object, key, rate / unit);
}

/**
 * json_add_time - add when a round was
 * @object: what gets it, as "time_s"
 * @time_s: since 1970
 */
void json_add_time(json_object *object, double time_s)
{
	char text[32];

	snprintf(text, sizeof(text), "%.6f", time_s);
	json_object_object_add(object, "time_s", json_object_new_double_s(time_s, text));
}

/**
 * json_add_u64 - add a number of the kernel as it is
 * @object: what gets it
 * @key:    under which name
 * @value:  the number
 */
void json_add_u64(json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_uint64(value));
}

/**
 * json_print - print an object in one line, and free it
 * @object: the object
 */
void json_print(json_object *object)
{
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(object);
}
