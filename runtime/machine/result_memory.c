// Memory of large results, which NumPy asks for and gives back through these functions (its NEP 49).
//
// malloc gives memory of 32 MiB and more back to the system as soon as an array dies, and the next array pays for new
// pages, which takes longer than computing it. Here, blocks wait for the next array of about the same size. The system
// may take the pages of waiting blocks if memory becomes scarce (MADV_FREE).

#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    TM_PAGE = 4096,      // bytes before the elements: the size of the block
    TM_HUGE = 2 << 20,   // bytes of a huge page, in which blocks are measured
    TM_WAITING = 16,     // blocks
    TM_PART = 8,         // waiting blocks take no more than this part of the machine's memory
    TM_WASTE = 4,        // a block may be longer than needed by this part
};

typedef struct {
    char *at;
    size_t size;
} tm_block;

static tm_block tm_waiting[TM_WAITING];  // the one that has waited longest first
static int tm_count;
static struct {
    size_t in_use, waiting, made, reused;  // bytes, bytes, blocks, blocks
} tm_stats;
static pthread_mutex_t tm_lock = PTHREAD_MUTEX_INITIALIZER;

static void tm_take_lock(void)
{
    pthread_mutex_lock(&tm_lock);
}

static void tm_leave_lock(void)
{
    pthread_mutex_unlock(&tm_lock);
}

static size_t tm_most(void)
{
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / TM_PART;
}

// The bytes of a block with room for this many, or 0 if there are no such blocks.
static size_t tm_size_for(size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        return 0;
    return (bytes + TM_PAGE + TM_HUGE - 1) / TM_HUGE * TM_HUGE;
}

static tm_block tm_remove(int number)
{
    const tm_block found = tm_waiting[number];
    memmove(tm_waiting + number, tm_waiting + number + 1, sizeof *tm_waiting * (size_t)(--tm_count - number));
    tm_stats.waiting -= found.size;
    return found;
}

// A block that waits, of this size or a little more; none: at 0.
static tm_block tm_reuse(size_t size)
{
    tm_block found = {0, 0};
    int best = -1;
    tm_take_lock();
    for (int i = 0; i < tm_count; i++)
        if (tm_waiting[i].size >= size && tm_waiting[i].size - size <= size / TM_WASTE &&
            (best < 0 || tm_waiting[i].size < tm_waiting[best].size))
            best = i;
    if (best >= 0) {
        found = tm_remove(best);
        tm_stats.reused++;
        tm_stats.in_use += found.size;
    }
    tm_leave_lock();
    return found;
}

static void tm_release_all(void)
{
    tm_take_lock();
    while (tm_count > 0) {
        const tm_block block = tm_remove(0);
        munmap(block.at, block.size);
    }
    tm_leave_lock();
}

static char *tm_mapped(size_t size)
{
    char *const found = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return found == MAP_FAILED ? 0 : found;
}

// A new block that begins where a huge page does.
static tm_block tm_make(size_t size)
{
    const tm_block none = {0, 0};
    char *found = tm_mapped(size + TM_HUGE);
    if (!found) {
        tm_release_all();
        found = tm_mapped(size + TM_HUGE);
    }
    if (!found)
        return none;
    char *const at = (char *)(((uintptr_t)found + TM_HUGE - 1) / TM_HUGE * TM_HUGE);
    if (at > found)
        munmap(found, (size_t)(at - found));
    if (at < found + TM_HUGE)
        munmap(at + size, (size_t)(found + TM_HUGE - at));
#ifdef MADV_HUGEPAGE
    madvise(at, size, MADV_HUGEPAGE);
#endif
    tm_take_lock();
    tm_stats.made++;
    tm_stats.in_use += size;
    tm_leave_lock();
    return (tm_block){at, size};
}

static size_t *tm_size_of(void *elements)
{
    return (size_t *)((char *)elements - TM_PAGE);
}

static void *tm_malloc(void *context, size_t bytes)
{
    (void)context;
    const size_t size = tm_size_for(bytes);
    if (!size)
        return 0;
    tm_block block = tm_reuse(size);
    if (!block.at)
        block = tm_make(size);
    if (!block.at)
        return 0;
    void *const elements = block.at + TM_PAGE;
    *tm_size_of(elements) = block.size;
    return elements;
}

static void *tm_calloc(void *context, size_t count, size_t bytes)
{
    if (bytes && count > SIZE_MAX / bytes)
        return 0;
    void *const elements = tm_malloc(context, count * bytes);
    if (elements)
        memset(elements, 0, count * bytes);
    return elements;
}

static void tm_free(void *context, void *elements, size_t bytes)
{
    (void)context;
    (void)bytes;
    if (!elements)
        return;
    tm_block block = {(char *)elements - TM_PAGE, *tm_size_of(elements)};
#ifdef MADV_FREE
    madvise(elements, block.size - TM_PAGE, MADV_FREE);
#endif
    tm_take_lock();
    tm_stats.in_use -= block.size;
    const size_t most = tm_most();
    while (tm_count > 0 && (tm_count == TM_WAITING || tm_stats.waiting + block.size > most)) {
        const tm_block oldest = tm_remove(0);
        munmap(oldest.at, oldest.size);
    }
    if (block.size <= most) {
        tm_waiting[tm_count++] = block;
        tm_stats.waiting += block.size;
        block.at = 0;
    }
    tm_leave_lock();
    if (block.at)
        munmap(block.at, block.size);
}

static void *tm_realloc(void *context, void *elements, size_t bytes)
{
    if (!elements)
        return tm_malloc(context, bytes);
    const size_t room = *tm_size_of(elements) - TM_PAGE;
    if (bytes <= room)
        return elements;
    void *const longer = tm_malloc(context, bytes);
    if (longer) {
        memcpy(longer, elements, room);
        tm_free(context, elements, room);
    }
    return longer;
}

// ---- What Python uses ----------------------------------------------------------------------------------

#define TM_PUBLIC __attribute__((visibility("default")))

// NumPy's PyDataMem_Handler.
TM_PUBLIC struct {
    char name[127];
    uint8_t version;
    struct {
        void *context;
        void *(*malloc)(void *, size_t);
        void *(*calloc)(void *, size_t, size_t);
        void *(*realloc)(void *, void *, size_t);
        void (*free)(void *, void *, size_t);
    } allocator;
} tracemill_memory = {"tracemill", 1, {0, tm_malloc, tm_calloc, tm_realloc, tm_free}};

TM_PUBLIC void tracemill_memory_stats(size_t found[4])
{
    tm_take_lock();
    found[0] = tm_stats.in_use;
    found[1] = tm_stats.waiting;
    found[2] = tm_stats.made;
    found[3] = tm_stats.reused;
    tm_leave_lock();
}

// A child of fork has one thread, which must be able to take the lock.
__attribute__((constructor)) static void tm_prepare_for_fork(void)
{
    pthread_atfork(tm_take_lock, tm_leave_lock, tm_leave_lock);
}
