/* locks.h - the three locks of the process, in the order in which they are taken. Before them comes that of process_wide.c; those of
 * watch.c, record_session.c and log.c are held for themselves: nothing of ours is waited for with one.
 *
 * The recording side takes none of them. What a thread may be doing for long with a lock held decides who may need it:
 *
 *   operation   begin, clear, read, end. Held while waiting for the device, which may be for ever.
 *   state       the open capture and its armed modules: operations when they do not wait, peek, attach, detach.
 *   list        the list of known modules. Held for a few instructions and never across a call of CUDA or the loader, as
 *               constructors and destructors of annotated libraries take it under the loader's own lock.
 */
#ifndef KT_LOCKS_H
#define KT_LOCKS_H

void kt_operation_lock(void);
void kt_operation_unlock(void);
/* Not 0: it is held now. For who must not wait: under the loader's lock. */
int kt_operation_trylock(void);
int kt_state_trylock(void);
void kt_state_lock(void);
void kt_state_unlock(void);
void kt_list_lock(void);
void kt_list_unlock(void);

#endif
