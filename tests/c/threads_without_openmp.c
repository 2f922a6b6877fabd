/* What gcc's OpenMP code calls, on plain threads: ThreadSanitizer understands these, and nothing of libgomp. */

#include <pthread.h>
#include <stdlib.h>

static _Thread_local int number, count = 1;

typedef struct {
    void (*body)(void *);
    void *data;
    int number, count;
} Part;

static void *run(void *given)
{
    Part *part = given;
    number = part->number;
    count = part->count;
    part->body(part->data);
    return NULL;
}

int omp_get_thread_num(void) { return number; }

int omp_get_num_threads(void) { return count; }

void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags)
{
    int n = threads ? (int)threads : 1;
    Part *parts = malloc(n * sizeof(Part));
    pthread_t *ids = malloc(n * sizeof(pthread_t));
    (void)flags;
    for (int i = 0; i < n; i++) {
        parts[i] = (Part){body, data, i, n};
        if (pthread_create(&ids[i], NULL, run, &parts[i]))
            abort();
    }
    for (int i = 0; i < n; i++)
        pthread_join(ids[i], NULL);
    free(ids);
    free(parts);
}
