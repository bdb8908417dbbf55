// SPDX-License-Identifier: GPL-2.0
// The pressure files of cgroups, the switch for them, and the life cycle of a
// cgroup's pressure state.

@@
expression ret, shown;
symbol cgroup_psi_files;
@@
(
- if (cgroup_psi_enabled()) { ret = cgroup_addrm_files(...); if (ret < 0) { ... } }
|
- if (cgroup_psi_enabled()) cgroup_addrm_files(...);
|
- if (cgroup_psi_enabled()) ret += shown;
|
- BUG_ON(cgroup_init_cftypes(NULL, cgroup_psi_files));
)

@@
symbol cgroup_psi_files;
@@
- static struct cftype cgroup_psi_files[];

@@
symbol cgroup_psi_files;
@@
- static struct cftype cgroup_psi_files[] = { ... };

@@
identifier enabled = cgroup_psi_enabled;
@@
- bool enabled(void);

@@
symbol false;
@@
(
- bool cgroup_psi_enabled(void) { return false; }
|
- static inline bool cgroup_psi_enabled(void) { return false; }
)

@ alloc @
expression ret, cgrp;
identifier undo;
@@
- ret = psi_cgroup_alloc(cgrp);
- if (ret)
- 	goto undo;

// The label goes last: without it there would be no flow graph for the goto.
@ undo_alloc @
expression cgrp;
identifier undo_psi;
@@
undo_psi:
psi_cgroup_free(cgrp);

@@
identifier alloc.undo, undo_alloc.undo_psi;
@@
- goto undo_psi;
+ goto undo;

@@
expression cgrp;
identifier undo_alloc.undo_psi;
@@
- undo_psi:
- psi_cgroup_free(cgrp);

@@
@@
- psi_cgroup_free(...);

@@
expression task, to;
@@
- cgroup_move_task(task, to);
+ rcu_assign_pointer(task->cgroups, to);
