/* step.h - which step into a vendor's library is being taken.
 *
 * Libraries of drivers that are broken crash, exit or hang, and take the process with them. `ktrace doctor` asks them in a child
 * and hears here how far it came. In every other process nobody listens.
 */
#ifndef KT_STEP_H
#define KT_STEP_H

/* `action` goes on after "while it was being": "loaded". */
typedef void kt_step_listener(const char *library, const char *action);

/* For the process, before the first backend is opened. */
void kt_step_listen(kt_step_listener *listener);

void kt_step(const char *library, const char *action);

#endif
