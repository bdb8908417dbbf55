/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers in JSON.
 */
#ifndef WATCH_JSON_NUMBER_H
#define WATCH_JSON_NUMBER_H

#include <json-c/json.h>

void json_add_double(json_object *object, const char *key, double value);
void json_add_rate(json_object *object, const char *key, double rate, double unit);
void json_add_time(json_object *object, double time_s);
void json_add_u64(json_object *object, const char *key, uint64_t value);
void json_print(json_object *object);

#endif
