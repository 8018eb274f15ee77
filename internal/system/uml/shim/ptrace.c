/*
 * Makes User-Mode Linux run on CPUs with more state than it knows, and end with
 * all that it runs.
 *
 * UML gives its traced processes their floating point state by
 * PTRACE_SETREGSET with NT_X86_XSTATE, in a buffer of the size that it was
 * built for: 2696 bytes in Linux 6.1. The host's kernel takes nothing but all
 * of the state that the CPU has, which with AMX is about 11000 bytes, so that
 * UML ends at its first exec with "ptrace set fp regs failed, errno 14".
 *
 * This library, preloaded, hands the host a buffer of the full size. What UML
 * did not save is marked as unused; nothing is lost by that, since a process
 * must ask for AMX with a system call that UML does not have.
 *
 * And should UML be killed, its traced processes are to be killed by the
 * kernel at once: let go, they would make their system calls on the host.
 *
 *	cc -O2 -shared -fPIC -o uml-ptrace.so ptrace.c
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

enum { XSTATE_LEAF = 0xd, XSTATE_BV = 512, LEGACY_END = 576, STATES = 63, OLD_SETOPTIONS = 21 };

/* Not on the stack: UML's are small. UML has one thread that traces. */
static char full[1 << 16] __attribute__((aligned(64)));

static size_t full_size;   /* of the state that the host enabled */
static size_t ends[STATES]; /* where each part of it ends */
static long (*next)(int, ...);

__attribute__((constructor)) static void look(void)
{
	unsigned eax, ebx, ecx, edx;

	next = (long (*)(int, ...))dlsym(RTLD_NEXT, "ptrace");
	if (!__get_cpuid_count(XSTATE_LEAF, 0, &eax, &ebx, &ecx, &edx) || ebx > sizeof(full))
		return;
	full_size = ebx;
	for (int i = 0; i < STATES; i++) {
		ends[i] = LEGACY_END;
		if (i > 1 && __get_cpuid_count(XSTATE_LEAF, i, &eax, &ebx, &ecx, &edx))
			ends[i] = (size_t)ebx + eax;
	}
}

/* pad copies what UML passed to full, without the parts that it cut off. */
static struct iovec pad(const struct iovec *in)
{
	uint64_t used;

	memset(full, 0, full_size);
	memcpy(full, in->iov_base, in->iov_len);
	memcpy(&used, full + XSTATE_BV, sizeof(used));
	for (int i = 0; i < STATES; i++)
		if (ends[i] > in->iov_len)
			used &= ~(1ULL << i);
	memcpy(full + XSTATE_BV, &used, sizeof(used));
	return (struct iovec){ full, full_size };
}

long ptrace(enum __ptrace_request request, ...)
{
	va_list args;
	va_start(args, request);
	int pid = va_arg(args, int);
	void *addr = va_arg(args, void *);
	void *data = va_arg(args, void *);
	va_end(args);

	if (request == PTRACE_SETREGSET && (uintptr_t)addr == NT_X86_XSTATE) {
		const struct iovec *in = data;
		if (in->iov_len >= LEGACY_END && in->iov_len < full_size) {
			struct iovec padded = pad(in);
			return next(request, pid, addr, &padded);
		}
	}
	if (request == PTRACE_SETOPTIONS || (int)request == OLD_SETOPTIONS)
		data = (void *)((uintptr_t)data | PTRACE_O_EXITKILL);
	return next(request, pid, addr, data);
}
