/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Macros that the kernel's headers have, and those of the C library lack.
 */
#ifndef WATCH_COMPAT_H
#define WATCH_COMPAT_H

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

#endif
