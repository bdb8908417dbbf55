// SPDX-License-Identifier: GPL-2.0
/*
 * A module from outside of the tree, as DKMS builds them: half a second of memory
 * stall when it is loaded. It is the same for Debian's kernel and for ours.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/psi.h>

static int __init stall_init(void)
{
	unsigned long flags;

	psi_memstall_enter(&flags);
	msleep(500);
	psi_memstall_leave(&flags);
	return 0;
}
module_init(stall_init);

static void __exit stall_exit(void)
{
}
module_exit(stall_exit);

MODULE_DESCRIPTION("Half a second of memory stall");
MODULE_LICENSE("GPL");
