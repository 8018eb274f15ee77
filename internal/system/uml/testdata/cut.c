/* Gives a traced child its own state back, cut off after argv[1] bytes. */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static char buf[1 << 16];
	struct iovec v = { buf, argc > 1 ? (size_t)atoi(argv[1]) : sizeof(buf) };
	pid_t child = fork();
	int status;

	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(7);
	}
	waitpid(child, &status, 0);
	if (ptrace(PTRACE_GETREGSET, child, (void *)NT_X86_XSTATE, &v) < 0)
		printf("get: %s\n", strerror(errno));
	else if (ptrace(PTRACE_SETREGSET, child, (void *)NT_X86_XSTATE, &v) < 0)
		printf("set: %s\n", strerror(errno));
	else
		printf("set %zu\n", v.iov_len);
	ptrace(PTRACE_CONT, child, 0, 0);
	waitpid(child, &status, 0);
	printf("child: %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	return 0;
}
