/* program_explain.h - which kernels of programs (ktrace_program_kernel) a capture waits for in vain.
 *
 * For the sentence that says why a capture recorded nothing, or not all. In capture's explain(), with a buffer that is being filled
 * from `end` to `limit`, of a capture of `arch`:
 *
 *     if (usage->waves_recorded == 0)
 *         end += kt_program_explain(end, (size_t)(limit - end), "; ", arch);
 *
 * Takes the list lock alone, for a few comparisons, so that it may be called with the state lock held.
 */
#ifndef KT_PROGRAM_EXPLAIN_H
#define KT_PROGRAM_EXPLAIN_H

#include <stddef.h>
#include <stdint.h>

struct ktrace_program;

/* Writes `separator` and: kernel "gemm" was obtained before the capture and stays untraced: ask ktrace_program_kernel again
 * inside it. About kernels of `arch` (enum ktrace_arch; 0: of any) that were last handed out untraced because no capture was open.
 * Returns how many characters were written, cut to `bytes` with a NUL; 0: there is no such kernel. */
size_t kt_program_explain(char *text, size_t bytes, const char *separator, uint32_t arch);

/* For program.c: a kernel was handed out, untraced because no capture was open, or otherwise. Without memory it is forgotten. */
void kt_program_note(const struct ktrace_program *program, const char *kernel, uint32_t arch, int dormant);
/* All of a program. */
void kt_program_forget(const struct ktrace_program *program);

#endif
