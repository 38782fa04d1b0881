/* cleanup.h - what must not stay behind when a signal ends the command: files that are not whole, and a child. */
#ifndef KT_CLI_CLEANUP_H
#define KT_CLI_CLEANUP_H

#include <sys/types.h>

enum { CLI_CLEANUP_FILES = 2 };

/* From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT remove these files, and the folder `made` (NULL: none) if it is empty then, and end
 * the command, unless they were ignored. The paths must stay valid until cli_cleanup_end. */
void cli_cleanup_begin(const char *const paths[CLI_CLEANUP_FILES], const char *made);
/* The files are whole, or gone. */
void cli_cleanup_end(void);

/* The child that these signals kill; 0: none. */
void cli_cleanup_child(pid_t process);

/* Between the two these signals wait. They nest. */
void cli_cleanup_hold(void);
void cli_cleanup_release(void);

/* In a child: nothing of all that is its own. */
void cli_cleanup_forget(void);

#endif
