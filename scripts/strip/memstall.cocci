// SPDX-License-Identifier: GPL-2.0
// Memory stall sections: the calls, and what exists only for them.

// Functions that hold a section, and the variable that it keeps its flags in.
@ section @
identifier f, flags;
@@
f(...) {
<+...
(
psi_memstall_enter(&flags);
|
psi_memstall_leave(&flags);
)
...+>
}

// A conditional section that notes in a variable whether it is open.
@@
expression cond, flags, note;
symbol true;
@@
(
- if (cond) { psi_memstall_enter(flags); note = 1; }
|
- if (cond) { note = \(true\|1\); psi_memstall_enter(flags); }
)

@@
expression flags, note;
@@
- if (note) { psi_memstall_leave(flags); note = 0; }

// A section on a condition of its own: the condition goes with it.
@@
expression cond, flags;
@@
(
- if (cond) psi_memstall_enter(flags);
|
- if (cond) psi_memstall_leave(flags);
)

@@
expression flags;
@@
(
- psi_memstall_enter(flags);
|
- psi_memstall_leave(flags);
)

// readahead_control keeps the section of a whole readahead in two members.
@@
struct readahead_control *ctl;
expression e;
symbol false;
@@
(
- ctl->_workingset |= e;
|
- ctl->_workingset = false;
)

@@
@@
struct readahead_control {
	...
-	bool _workingset;
-	unsigned long _pflags;
	...
};

// A helper that was handed the variables of its caller's section.
@ helper @
identifier f, memstall, pflags;
parameter list[n] ps;
@@
f(ps
- , int *memstall, unsigned long *pflags
 )
{
	... when != memstall
	    when != pflags
}

@@
identifier helper.f, memstall, flags;
expression list[helper.n] es;
@@
f(es
- , &memstall, &flags
 )

// What is left without a use.
@@
identifier section.f, section.flags;
@@
f(...) {
	...
-	unsigned long flags;
	... when != flags
}

@@
identifier section.flags;
@@
{
	...
-	unsigned long flags;
	... when != flags
}

@@
identifier section.f;
identifier note;
expression start;
@@
f(...) {
	...
(
- int note = start;
|
- bool note = start;
)
	... when != note
}
