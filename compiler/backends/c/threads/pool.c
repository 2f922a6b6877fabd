// Threads that share the work of a call.
//
// tm_share(work, with, count, threads) calls work(with, chunk) for each chunk from 0 to count - 1. Threads take the
// next chunk from a counter; so does the caller, which returns when all chunks have been computed. It waits for
// chunks, not for threads: one that the system does not run delays nobody, unless it is in the middle of a chunk.
//
// A job stands in one of a few places, where the threads look for it. They start when a job first needs them. Between
// jobs they watch for the next one for a few microseconds, and then sleep. Several callers have a job each, and so do
// chunks that share work in turn. If all places are taken, or the system starts no threads, the caller works alone.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fenv.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#ifdef _WIN32
#include <windows.h>
#else
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>
#endif
#ifdef __linux__
#include <sys/syscall.h>
#endif

typedef void tm_work(void *with, long chunk);

enum {
    TM_JOBS = 16,
    TM_MOST_THREADS = 1024,
    TM_LOOKS = 200,      // at a number, before a thread sleeps until it changes
    TM_PATIENCE = 1000,  // jobs until the system is asked again for a thread that it has refused
    TM_STACK = 8 << 20,  // bytes, at least
    TM_LINE = 128,       // bytes between numbers that different threads change
};

typedef struct {
    _Alignas(TM_LINE) atomic_bool is_taken;  // by a caller, who alone writes the next five
    tm_work *work;
    void *with;
    int count, parts;
    fenv_t arithmetic;  // its rounding and its treatment of tiny numbers, which count for all chunks
    _Alignas(TM_LINE) atomic_int left;  // chunks that nobody has begun; negative if threads have asked for more
    atomic_int seats;                    // threads that may still join; negative likewise
    _Alignas(TM_LINE) atomic_uint unfinished;  // chunks that have not been computed
} tm_job;

static tm_job tm_jobs[TM_JOBS];
static atomic_uint tm_opened;  // jobs so far: threads wait for this to change
static atomic_int tm_asleep;   // threads that wait for it in their sleep
static atomic_int tm_started;  // threads of the pool
static atomic_bool tm_is_starting, tm_is_ending;

// ---- Waiting for a number to change --------------------------------------------------------------------

#if defined(__linux__) && defined(SYS_futex)

enum { TM_WAIT = 128, TM_WAKE = 129 };  // FUTEX_WAIT_PRIVATE, FUTEX_WAKE_PRIVATE

static void tm_sleep(atomic_uint *number, unsigned value)
{
    syscall(SYS_futex, number, TM_WAIT, value, 0, 0, 0);  // returns at once if it has changed
}

static void tm_wake(atomic_uint *number, int threads)
{
    syscall(SYS_futex, number, TM_WAKE, threads, 0, 0, 0);
}

#else

#ifdef _WIN32
static SRWLOCK tm_lock = SRWLOCK_INIT;
static CONDITION_VARIABLE tm_change = CONDITION_VARIABLE_INIT;
#define TM_LOCK() AcquireSRWLockExclusive(&tm_lock)
#define TM_UNLOCK() ReleaseSRWLockExclusive(&tm_lock)
#define TM_AWAIT_CHANGE() SleepConditionVariableSRW(&tm_change, &tm_lock, INFINITE, 0)
#define TM_TELL_CHANGE() WakeAllConditionVariable(&tm_change)
#else
static pthread_mutex_t tm_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t tm_change = PTHREAD_COND_INITIALIZER;
#define TM_LOCK() pthread_mutex_lock(&tm_lock)
#define TM_UNLOCK() pthread_mutex_unlock(&tm_lock)
#define TM_AWAIT_CHANGE() pthread_cond_wait(&tm_change, &tm_lock)
#define TM_TELL_CHANGE() pthread_cond_broadcast(&tm_change)
#endif

static void tm_sleep(atomic_uint *number, unsigned value)
{
    TM_LOCK();
    while (atomic_load(number) == value)
        TM_AWAIT_CHANGE();
    TM_UNLOCK();
}

static void tm_wake(atomic_uint *number, int threads)
{
    (void)number, (void)threads;  // all look
    TM_LOCK();
    TM_TELL_CHANGE();
    TM_UNLOCK();
}

#endif

// Whether a number changes within a few microseconds.
static bool tm_changes(atomic_uint *number, unsigned value)
{
    for (int look = 0; look < TM_LOOKS; look++) {
        if (atomic_load(number) != value)
            return true;
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ volatile("isb");
#endif
    }
    return false;
}

// ---- Jobs ----------------------------------------------------------------------------------------------

// Take one of the things that are left: how many there were, or 0 if there are none. Threads see what the caller wrote
// before it opened the job, and the caller sees what they have computed once all is finished. There is no other order
// between chunks, so that ThreadSanitizer finds those that are not independent.
static int tm_take(atomic_int *left)
{
    if (atomic_load(left) <= 0)
        return 0;
    const int before = atomic_fetch_sub_explicit(left, 1, memory_order_acquire);
    return before > 0 ? before : 0;
}

// The chunks in the order in which they are taken: in turn from as many parts as there are threads, so that each thread
// tends to follow its own part through memory.
static long tm_chunk_at(const tm_job *job, int turn)
{
    const int part = turn % job->parts, length = job->count / job->parts, longer = job->count % job->parts;
    return (long)part * length + (part < longer ? part : longer) + turn / job->parts;
}

// Compute a chunk of a job, if one is left. The job cannot end before the chunk that was taken, so its fields are read
// in between only. A thread may take a chunk of a later job than the one that it has found: it is as good.
static bool tm_compute_chunk(tm_job *job, bool is_caller)
{
    const int left = tm_take(&job->left);
    if (!left)
        return false;
    if (!is_caller)
        fesetenv(&job->arithmetic);
    job->work(job->with, tm_chunk_at(job, job->count - left));
    if (atomic_fetch_sub_explicit(&job->unfinished, 1, memory_order_release) == 1 && !is_caller)
        tm_wake(&job->unfinished, 1);
    return true;
}

// What a thread of the pool does. It looks at different places first than others. If it is woken too late, it does not
// stay awake: the caller may be waiting for its processor.
static void tm_run_thread(int number)
{
    for (;;) {
        bool was_late = true;
        const unsigned opened = atomic_load(&tm_opened);
        for (int i = 0; i < TM_JOBS; i++) {
            tm_job *const job = &tm_jobs[(number + i) % TM_JOBS];
            if (atomic_load(&job->left) > 0 && tm_take(&job->seats))
                while (!atomic_load(&tm_is_ending) && tm_compute_chunk(job, false))
                    was_late = false;
        }
        if (atomic_load(&tm_is_ending))
            return;
        if (was_late || !tm_changes(&tm_opened, opened)) {
            atomic_fetch_add(&tm_asleep, 1);
            tm_sleep(&tm_opened, opened);
            atomic_fetch_sub(&tm_asleep, 1);
        }
    }
}

// ---- Starting and ending threads -----------------------------------------------------------------------

#ifdef _WIN32

static DWORD WINAPI tm_thread(void *number)
{
    tm_run_thread((int)(intptr_t)number);
    return 0;
}

// Its code must stay loaded.
static bool tm_start_thread(int number)
{
    HMODULE module;
    GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, (void *)tm_jobs, &module);
    const HANDLE thread = CreateThread(0, TM_STACK, tm_thread, (void *)(intptr_t)number, 0, 0);
    return thread && CloseHandle(thread);
}

#else

static pthread_t tm_threads[TM_MOST_THREADS];

static void *tm_thread(void *number)
{
    tm_run_thread((int)(intptr_t)number);
    return 0;
}

// Signals are for the program's threads, except those that say what a thread itself has done.
static bool tm_start_thread(int number)
{
    const int own[] = {SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (unsigned i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&blocked, own[i]);
    pthread_attr_t with;
    if (pthread_attr_init(&with))
        return false;
    size_t usual = 0;
    pthread_attr_getstacksize(&with, &usual);
    if (usual < TM_STACK)
        pthread_attr_setstacksize(&with, TM_STACK);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    const int problem = pthread_create(&tm_threads[number], &with, tm_thread, (void *)(intptr_t)number);
    pthread_sigmask(SIG_SETMASK, &before, 0);
    pthread_attr_destroy(&with);
    return !problem;
}

// A forked process has one thread, and the jobs of others are not its own.
static void tm_begin_child(void)
{
    for (int i = 0; i < TM_JOBS; i++) {
        atomic_store(&tm_jobs[i].left, 0);
        atomic_store(&tm_jobs[i].is_taken, false);
    }
    atomic_store(&tm_started, 0);
    atomic_store(&tm_asleep, 0);
    atomic_store(&tm_is_starting, false);
#ifdef TM_LOCK
    pthread_mutex_init(&tm_lock, 0);
    pthread_cond_init(&tm_change, 0);
#endif
}

__attribute__((constructor)) static void tm_watch_forks(void)
{
    pthread_atfork(0, 0, tm_begin_child);
}

// When the process exits, or unloads this code. Nobody starts threads after that.
__attribute__((destructor)) static void tm_end_threads(void)
{
    while (atomic_exchange(&tm_is_starting, true))
        sched_yield();
    atomic_store(&tm_is_ending, true);
    atomic_fetch_add(&tm_opened, 1);
    tm_wake(&tm_opened, INT_MAX);
    for (int i = atomic_exchange(&tm_started, 0); i > 0; i--)
        pthread_join(tm_threads[i - 1], 0);
}

#endif

// Start threads until there are this many, unless another caller is just doing that. Whether there are any.
static bool tm_has_threads(int wanted)
{
    static int patience;
    if (wanted > TM_MOST_THREADS)
        wanted = TM_MOST_THREADS;
    if (atomic_load(&tm_started) < wanted && !atomic_exchange(&tm_is_starting, true)) {
        int started = atomic_load(&tm_started);
        while (started < wanted && !patience) {
            if (tm_start_thread(started))
                atomic_store(&tm_started, ++started);
            else
                patience = TM_PATIENCE;
        }
        patience -= patience > 0;
        atomic_store(&tm_is_starting, false);
    }
    return atomic_load(&tm_started) > 0;
}

// ---- Calls ---------------------------------------------------------------------------------------------

static tm_job *tm_take_place(void)
{
    for (int i = 0; i < TM_JOBS; i++)
        if (!atomic_load(&tm_jobs[i].is_taken) && !atomic_exchange(&tm_jobs[i].is_taken, true))
            return &tm_jobs[i];
    return 0;
}

static void tm_share(tm_work *work, void *with, long count, long threads)
{
    const long helpers = (threads < count ? threads : count) - 1;
    tm_job *job = 0;
    if (helpers > 0 && count <= INT_MAX && tm_has_threads((int)helpers))
        job = tm_take_place();
    if (!job) {
        for (long chunk = 0; chunk < count; chunk++)
            work(with, chunk);
        return;
    }
    job->work = work;
    job->with = with;
    job->count = (int)count;
    job->parts = (int)helpers + 1;
    fegetenv(&job->arithmetic);
    atomic_store(&job->unfinished, (unsigned)count);
    atomic_store(&job->seats, (int)helpers);
    atomic_store(&job->left, (int)count);  // from here on, threads may join
    atomic_fetch_add(&tm_opened, 1);
    if (atomic_load(&tm_asleep))
        tm_wake(&tm_opened, (int)helpers);
    while (tm_compute_chunk(job, true))
        continue;
    for (unsigned n = atomic_load(&job->unfinished); n; n = atomic_load(&job->unfinished))
        if (!tm_changes(&job->unfinished, n))
            tm_sleep(&job->unfinished, n);
    atomic_store(&job->is_taken, false);
}
