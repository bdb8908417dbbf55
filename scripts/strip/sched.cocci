// SPDX-License-Identifier: GPL-2.0
// The scheduler's hooks, and the empty ones that stand in for them.

@@
@@
(
- psi_init();
|
- psi_enqueue(...);
|
- psi_dequeue(...);
|
- psi_sched_switch(...);
|
- psi_account_irqtime(...);
)

@@
identifier hook =~ "^psi_";
@@
- static inline void hook(...) {}
