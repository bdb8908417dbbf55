/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Times with units, as users write them.
 */
#ifndef WATCH_UNITS_H
#define WATCH_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US_PER_MS	1000ULL
#define US_PER_S	1000000ULL

bool time_parse(const char *text, uint64_t *us);
const char *time_text(uint64_t us, char *text, size_t size);
double now_s(void);
double date_s(void);
const char *date_text(double date_s, const char *format, char *text, size_t size);
void wait_until(double until_s);

#endif
