/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Macros of the kernel's headers that the C library lacks.
 */
#ifndef WATCH_COMPAT_H
#define WATCH_COMPAT_H

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

#endif
