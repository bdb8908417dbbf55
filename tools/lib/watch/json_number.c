// SPDX-License-Identifier: GPL-2.0
/*
 * Numbers in JSON, with as many digits as are meaningful.
 */
#include <stdio.h>

#include "json_number.h"

/**
 * json_add_double - add a number with two decimals
 * @object: the object that gets it
 * @key:    its key
 * @value:  the number
 */
void json_add_double(json_object *object, const char *key, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.2f", value);
	json_object_object_add(object, key, json_object_new_double_s(value, text));
}

/**
 * json_add_rate - add a growth per second
 * @object: the object that gets it
 * @key:    its key
 * @rate:   the growth; negative if it is not known, which makes it null
 * @unit:   the output is in multiples of this
 */
void json_add_rate(json_object *object, const char *key, double rate, double unit)
{
	if (rate < 0)
		json_object_object_add(object, key, NULL);
	else
		json_add_double(object, key, rate / unit);
}

/**
 * json_add_time - add the time of a round
 * @object: the object that gets it, as "time_s"
 * @time_s: seconds since 1970
 */
void json_add_time(json_object *object, double time_s)
{
	char text[32];

	snprintf(text, sizeof(text), "%.6f", time_s);
	json_object_object_add(object, "time_s", json_object_new_double_s(time_s, text));
}

/**
 * json_add_u64 - add a number exactly as the kernel has it
 * @object: the object that gets it
 * @key:    its key
 * @value:  the number
 */
void json_add_u64(json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_uint64(value));
}

/**
 * json_print - print an object as one line, and free it
 * @object: the object
 */
void json_print(json_object *object)
{
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(object);
}
