/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the headers of the kernel have, and those of C do not.
 */
#ifndef WATCH_COMPAT_H
#define WATCH_COMPAT_H

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

#endif
