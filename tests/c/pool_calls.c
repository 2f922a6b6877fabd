/* Calls of the pool from several threads, from chunks, around a fork, and while the process exits. Follows pool.c. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CALLERS = 8, CHUNKS = 40, CALLS = 200 };

typedef struct {
    long threads;
    long results[CHUNKS];
} Squares;

static void square(void *with, long chunk)
{
    ((Squares *)with)->results[chunk] += chunk * chunk;
}

static void check(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

/* Every chunk is computed once per call, whatever the number of threads. */
static void check_squares(long threads, int calls)
{
    Squares squares = {.threads = threads};
    for (int call = 1; call <= calls; call++) {
        tm_share(square, &squares, CHUNKS, threads);
        for (long chunk = 0; chunk < CHUNKS; chunk++)
            check(squares.results[chunk] == call * chunk * chunk, "a chunk was left out, or computed twice");
    }
}

static void nested(void *with, long chunk)
{
    (void)with, (void)chunk;
    check_squares(3, 1);
}

static void slow(void *with, long chunk)
{
    (void)with, (void)chunk;
    nanosleep(&(struct timespec){0, 2000000}, 0);
}

static void *caller(void *number)
{
    for (int call = 0; call < CALLS; call++)
        check_squares(1 + (call + (long)(intptr_t)number) % 8, 1);
    tm_share(nested, 0, 9, 4);
    return 0;
}

static void *exits_while_it_works(void *unused)
{
    (void)unused;
    for (;;)
        tm_share(slow, 0, 8, 4);
    return 0;
}

static void check_fork(void)
{
    const pid_t child = fork();
    if (!child) {
        check_squares(4, 20);
        exit(0);
    }
    int status;
    check(waitpid(child, &status, 0) == child && status == 0, "the child fails");
}

int main(int count, char **given)
{
    tm_share(square, &(Squares){0}, 0, 4);
    for (long threads = 1; threads <= 8; threads++)
        check_squares(threads, CALLS);
    pthread_t callers[CALLERS];
    for (long i = 0; i < CALLERS; i++)
        check(!pthread_create(&callers[i], 0, caller, (void *)(intptr_t)i), "no caller starts");
    if (count < 2 || strcmp(given[1], "forks"))
        for (int i = 0; i < 10; i++)
            check_fork();
    for (int i = 0; i < CALLERS; i++)
        pthread_join(callers[i], 0);
    pthread_t late;
    pthread_create(&late, 0, exits_while_it_works, 0);
    nanosleep(&(struct timespec){0, 20000000}, 0);
    puts("done");
    exit(0);
}
