/* log.h - sentences for the program's log callback: what nobody asked for, but somebody should know. */
#ifndef KT_LOG_H
#define KT_LOG_H

/* One sentence without a newline. Call it without holding locks (locks.h). The thread's last error stays. */
void kt_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same; but where no callback is set, on stderr: of process-wide collection, which no caller of ours may be there to hear. */
void kt_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
