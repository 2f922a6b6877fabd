
// ---- The number of threads in programs without Python ----------------------------------------------------

#include <stdio.h>
#include <stdlib.h>

// As many as OMP_NUM_THREADS says, or as the processors that this process may use: those that the system gives it, but
// no more than the quota of its container.
static int tm_usual_threads(void)
{
    const char *const given = getenv("OMP_NUM_THREADS");
    const long wanted = given ? strtol(given, 0, 10) : 0;
    if (wanted >= 1 && wanted <= TM_MOST_THREADS)
        return (int)wanted;
    long found = 1;
#ifdef _WIN32
    SYSTEM_INFO system;
    GetSystemInfo(&system);
    found = system.dwNumberOfProcessors;
#else
    found = sysconf(_SC_NPROCESSORS_ONLN);
#endif
#ifdef __linux__
    cpu_set_t processors;
    if (!sched_getaffinity(0, sizeof processors, &processors))
        found = CPU_COUNT(&processors);
    FILE *const file = fopen("/sys/fs/cgroup/cpu.max", "r");
    long quota, period;
    if (file && fscanf(file, "%ld %ld", &quota, &period) == 2 && period > 0 && quota / period < found)
        found = (quota + period / 2) / period;
    if (file)
        fclose(file);
#endif
    return found < 1 ? 1 : found < TM_MOST_THREADS ? (int)found : TM_MOST_THREADS;
}
