/* log.h - sentences for the program's log callback: what nobody asked for, but somebody should know. */
#ifndef KT_LOG_H
#define KT_LOG_H

/* One sentence without a newline. Call it without holding locks (locks.h). The thread's last error stays. */
void kt_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same once the thread holds no locks, when it calls kt_log_told_later. The latest counts. */
void kt_log_later(const char *format, ...) __attribute__((format(printf, 1, 2)));
void kt_log_told_later(void);
/* The same as kt_log; but where no callback is set, on stderr: of process-wide collection, which no caller of ours may be there to
 * hear. `ktrace record` hears it in place of both. */
void kt_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
