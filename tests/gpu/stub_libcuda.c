// A driver of GPUs that are not there, for tests: host memory is device memory, and streams are queues of work.
//
// As on a GPU, work is done some time after it was asked for: here as late as possible, when somebody waits for it. So a
// program that forgets to wait reads what is not written yet, and memory that is freed too early is seen to be.
// Handles are checked: a call without a current context, a pointer that is not live, or a stream of another device
// gives the error of the real driver. What tests ask for and set stands at the end.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int CUresult;
typedef uint64_t CUdeviceptr;

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    MISALIGNED_ADDRESS = 716,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_INVALIDATED = 901,
};

enum { DEVICES = 4, DEPTH = 16, PARAMETERS = 64, ALIGNMENT = 512, ALIGNED = 16, POISON = 0xCD };

// ---- devices, streams and what waits in them -----------------------------------------------------------

typedef struct Device {
    int number, major, minor;
    size_t bytes, used;
    CUresult failed;  // an error that stays, as that of a kernel does
} Device;

typedef struct Module {
    long number;
    Device *device;
    int is_unloaded;  // functions of it may be queued, or recorded
} Module;

typedef struct Function {
    char name[256];
    Module *module;
    int parameters;
    int numbers;  // how many of them are not pointers; they come before the two that Triton adds
    unsigned threads;  // for which it was compiled, 0 where it does not say
    unsigned shared_limit;
    struct Function *next;
} Function;

typedef struct Stream Stream;

typedef struct Event {
    Device *device;
    Stream *stream;
    long asked, done;  // how often it was recorded, and how often the stream came by
    int64_t nanoseconds;
    int waiting, is_destroyed;  // how much work still refers to it
    int is_without_time;
} Event;

typedef struct Work {
    enum { COPY, FILL, LAUNCH, FREE, RECORD, WAIT } kind;
    CUdeviceptr to, from;  // host addresses too
    size_t bytes;
    int value;
    Function *function;
    unsigned grid, block, shared;
    uint64_t parameters[PARAMETERS];
    Event *event;
    long turn;
    struct Work *next;
} Work;

typedef struct Queue {
    Work *first, *last;
} Queue;

struct Stream {
    Device *device;
    Queue queue;
    Queue captured;
    int is_capturing, is_spoiled;
    Stream *next;
};

typedef struct Graph {
    Device *device;
    Queue work;
} Graph;

typedef struct Block {
    CUdeviceptr address;
    size_t bytes;
    Device *device;
    struct Block *next;
} Block;

typedef long (*OnLoad)(const void *image, int device);  // the number of the module, or minus an error
typedef int (*OnFunction)(long module, const char *name);  // parameters + 256 * numbers + 65536 * threads, or -1
typedef void (*OnLaunch)(const char *name, unsigned grid, unsigned block, unsigned shared, Stream *stream,
                         int device, int count, const uint64_t *parameters);

static pthread_mutex_t lock;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static Device devices[DEVICES];
static int device_count, version, is_initialized, is_eager;
static Block *blocks;
static Stream *streams, default_streams[DEVICES];
static char failing[64];
static CUresult failure;
static long calls, bad_frees;
static char counted[64];
static OnLoad on_load;
static OnFunction on_function;
static OnLaunch on_launch;
static _Thread_local Device *stack[DEPTH];
static _Thread_local int depth;

static void begin(void)
{
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &recursive);
}

static void unlock(int *unused)
{
    (void)unused;
    pthread_mutex_unlock(&lock);
}

// What a call begins with. The result that a test has asked for comes in place of its own.
static CUresult entered(const char *name)
{
    size_t length = strlen(name) - (strstr(name, "_v2") ? 3 : 0);
    if (counted[0] && !strncmp(counted, name, length) && !counted[length]) calls++;
    if (!failing[0] || strncmp(failing, name, length) || failing[length]) return SUCCESS;
    failing[0] = 0;
    return failure;
}

#define PUBLIC __attribute__((visibility("default")))
#define LOCKED                                                                                                         \
    pthread_once(&once, begin);                                                                                        \
    pthread_mutex_lock(&lock);                                                                                         \
    __attribute__((cleanup(unlock), unused)) int locked = 1
#define CALLED                                                                                                         \
    LOCKED;                                                                                                            \
    CUresult given = entered(__func__);                                                                                \
    if (given) return given
#define STARTED                                                                                                        \
    CALLED;                                                                                                            \
    if (!is_initialized) return NOT_INITIALIZED
#define IN_CONTEXT                                                                                                     \
    STARTED;                                                                                                           \
    Device *device = depth ? stack[depth - 1] : NULL;                                                                  \
    if (!device) return INVALID_CONTEXT;                                                                               \
    if (device->failed) return device->failed

static Block *block_at(CUdeviceptr address)
{
    for (Block *b = blocks; b; b = b->next)
        if (address >= b->address && address < b->address + b->bytes) return b;
    return NULL;
}

static int is_live(CUdeviceptr address, size_t bytes, Device *device)
{
    Block *block = block_at(address);
    return block && block->device == device && address + bytes <= block->address + block->bytes;
}

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static CUresult release(CUdeviceptr address)
{
    for (Block **place = &blocks; *place; place = &(*place)->next) {
        Block *block = *place;
        if (block->address != address) continue;
        *place = block->next;
        block->device->used -= block->bytes;
        memset((void *)block->address, POISON, block->bytes);
        free((void *)block->address);
        free(block);
        return SUCCESS;
    }
    bad_frees++;
    return INVALID_VALUE;
}

static Work *taken(Queue *queue)
{
    Work *work = queue->first;
    if (work && !(queue->first = work->next)) queue->last = NULL;
    return work;
}

static void emptied(Queue *queue)
{
    for (Work *work; (work = taken(queue));) free(work);
}

static void appended(Queue *queue, Work work)
{
    Work *copy = malloc(sizeof *copy);
    *copy = work;
    copy->next = NULL;
    if (queue->last)
        queue->last->next = copy;
    else
        queue->first = copy;
    queue->last = copy;
}

static void finish(Stream *stream);
static void finish_until(Event *event, long turn);

static void let_go(Event *event)
{
    if (!--event->waiting && event->is_destroyed) free(event);
}

static void step(Stream *stream, Work *work)
{
    Device *device = stream->device;
    switch (work->kind) {
    case COPY:
        memmove((void *)work->to, (void *)work->from, work->bytes);
        break;
    case FILL:
        if (is_live(work->to, work->bytes, device))
            memset((void *)work->to, work->value, work->bytes);
        else
            device->failed = ILLEGAL_ADDRESS;
        break;
    case LAUNCH:
        if (work->function->module->is_unloaded) device->failed = ILLEGAL_ADDRESS;
        for (int i = 0, own = work->function->parameters - 2; i < work->function->parameters; i++) {
            CUdeviceptr pointer = i < own - work->function->numbers || i >= own ? work->parameters[i] : 0;
            if (pointer && !is_live(pointer, 1, device)) device->failed = ILLEGAL_ADDRESS;
            if (pointer % ALIGNED) device->failed = MISALIGNED_ADDRESS;  // code loads 16 bytes at once
        }
        if (on_launch && !device->failed)
            on_launch(work->function->name, work->grid, work->block, work->shared, stream, device->number,
                      work->function->parameters, work->parameters);
        break;
    case FREE:
        release(work->to);
        break;
    case RECORD:
        work->event->done = work->turn;
        work->event->nanoseconds = now();
        let_go(work->event);
        break;
    case WAIT:
        finish_until(work->event, work->turn);
        let_go(work->event);
        break;
    }
    free(work);
}

static void finish(Stream *stream)
{
    for (Work *work; (work = taken(&stream->queue));) step(stream, work);
}

static void finish_until(Event *event, long turn)
{
    for (Work *work; event->done < turn && (work = taken(&event->stream->queue));) step(event->stream, work);
}

static CUresult enqueue(Stream *stream, Work work)
{
    if (stream->is_capturing) {
        if (work.kind == FREE || work.kind == RECORD || work.kind == WAIT) {
            stream->is_spoiled = 1;
            return CAPTURE_UNSUPPORTED;
        }
        appended(&stream->captured, work);
        return SUCCESS;
    }
    if (work.event) work.event->waiting++;
    appended(&stream->queue, work);
    if (is_eager) finish(stream);
    return SUCCESS;
}

// The stream of a handle: 0, 1 and 2 stand for the default streams.
static Stream *stream_of(void *handle, Device *device)
{
    if ((uintptr_t)handle > 2) return handle;
    Stream *stream = &default_streams[device->number];
    stream->device = device;
    return stream;
}

// ---- devices and contexts ------------------------------------------------------------------------------

PUBLIC CUresult cuInit(unsigned flags)
{
    (void)flags;
    CALLED;
    if (!device_count) return NO_DEVICE;
    is_initialized = 1;
    return SUCCESS;
}

PUBLIC CUresult cuDriverGetVersion(int *found)
{
    CALLED;
    *found = version;
    return SUCCESS;
}

PUBLIC CUresult cuDeviceGetCount(int *count)
{
    STARTED;
    *count = device_count;
    return SUCCESS;
}

PUBLIC CUresult cuDeviceGet(int *device, int ordinal)
{
    STARTED;
    if (ordinal < 0 || ordinal >= device_count) return INVALID_DEVICE;
    *device = ordinal;
    return SUCCESS;
}

PUBLIC CUresult cuDeviceGetName(char *name, int length, int device)
{
    STARTED;
    if (device < 0 || device >= device_count) return INVALID_DEVICE;
    snprintf(name, (size_t)length, "Stub GPU %d", device);
    return SUCCESS;
}

PUBLIC CUresult cuDeviceGetAttribute(int *value, int attribute, int device)
{
    STARTED;
    if (device < 0 || device >= device_count) return INVALID_DEVICE;
    switch (attribute) {
    case 16: *value = 132; break;  // multiprocessors
    case 38: *value = 1 << 20; break;  // bytes of the second cache
    case 75: *value = devices[device].major; break;
    case 76: *value = devices[device].minor; break;
    case 97: *value = 232448; break;  // bytes of shared memory that a block may ask for
    case 115: *value = 1; break;  // memory pools
    default: return INVALID_VALUE;
    }
    return SUCCESS;
}

PUBLIC CUresult cuDevicePrimaryCtxRetain(Device **context, int device)
{
    STARTED;
    if (device < 0 || device >= device_count) return INVALID_DEVICE;
    *context = &devices[device];
    return SUCCESS;
}

PUBLIC CUresult cuCtxPushCurrent_v2(Device *context)
{
    STARTED;
    if (depth == DEPTH) return INVALID_CONTEXT;
    stack[depth++] = context;
    return SUCCESS;
}

PUBLIC CUresult cuCtxPopCurrent_v2(Device **context)
{
    STARTED;
    if (!depth) return INVALID_CONTEXT;
    *context = stack[--depth];
    return SUCCESS;
}

PUBLIC CUresult cuCtxGetCurrent(Device **context)
{
    STARTED;
    *context = depth ? stack[depth - 1] : NULL;
    return SUCCESS;
}

PUBLIC CUresult cuCtxSynchronize(void)
{
    IN_CONTEXT;
    int is_capturing = 0;  // who waits for a context waits for streams that record
    for (Stream *stream = streams; stream; stream = stream->next)
        if (stream->device == device && stream->is_capturing) is_capturing = stream->is_spoiled = 1;
    if (is_capturing) return CAPTURE_UNSUPPORTED;
    for (Stream *stream = streams; stream; stream = stream->next)
        if (stream->device == device) finish(stream);
    finish(stream_of(NULL, device));
    return device->failed;
}

// ---- memory --------------------------------------------------------------------------------------------

PUBLIC CUresult cuDeviceGetDefaultMemPool(Device **pool, int device)
{
    STARTED;
    if (device < 0 || device >= device_count) return INVALID_DEVICE;
    *pool = &devices[device];
    return SUCCESS;
}

PUBLIC CUresult cuMemPoolSetAttribute(Device *pool, int attribute, void *value)
{
    (void)pool;
    STARTED;
    return attribute == 4 && *(uint64_t *)value == UINT64_MAX ? SUCCESS : INVALID_VALUE;  // 4: what the pool keeps
}

PUBLIC CUresult cuMemPoolTrimTo(Device *pool, size_t bytes)
{
    (void)pool, (void)bytes;
    STARTED;
    return SUCCESS;
}

PUBLIC CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, void *handle)
{
    IN_CONTEXT;
    if (!bytes || stream_of(handle, device)->device != device) return INVALID_VALUE;
    void *memory = NULL;
    if (bytes > device->bytes - device->used || posix_memalign(&memory, ALIGNMENT, bytes)) return OUT_OF_MEMORY;
    memset(memory, POISON, bytes);
    device->used += bytes;
    Block *block = malloc(sizeof *block);
    *block = (Block){(CUdeviceptr)memory, bytes, device, blocks};
    blocks = block;
    *address = block->address;
    return SUCCESS;
}

PUBLIC CUresult cuMemFreeAsync(CUdeviceptr address, void *handle)
{
    IN_CONTEXT;
    Block *block = block_at(address);
    if (!block || block->address != address) {
        bad_frees++;
        return INVALID_VALUE;
    }
    return enqueue(stream_of(handle, device), (Work){.kind = FREE, .to = address});
}

PUBLIC CUresult cuMemGetInfo_v2(size_t *unused, size_t *total)
{
    IN_CONTEXT;
    *unused = device->bytes - device->used;
    *total = device->bytes;
    return SUCCESS;
}

PUBLIC CUresult cuPointerGetAttribute(void *value, int attribute, CUdeviceptr address)
{
    STARTED;
    Block *block = block_at(address);
    if (!block) return INVALID_VALUE;
    if (attribute != 9) return INVALID_VALUE;  // 9: the number of the device
    *(int *)value = block->device->number;
    return SUCCESS;
}

PUBLIC CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, void *handle)
{
    IN_CONTEXT;
    if (!is_live(to, bytes, device)) return INVALID_VALUE;
    return enqueue(stream_of(handle, device), (Work){.kind = COPY, .to = to, .from = (CUdeviceptr)from, .bytes = bytes});
}

PUBLIC CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, void *handle)
{
    IN_CONTEXT;
    if (!is_live(from, bytes, device)) return INVALID_VALUE;
    return enqueue(stream_of(handle, device), (Work){.kind = COPY, .to = (CUdeviceptr)to, .from = from, .bytes = bytes});
}

PUBLIC CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, void *handle)
{
    IN_CONTEXT;
    if (!is_live(to, bytes, device) || !is_live(from, bytes, device)) return INVALID_VALUE;
    if (to < from + bytes && from < to + bytes) return INVALID_VALUE;  // a GPU copies in any order
    return enqueue(stream_of(handle, device), (Work){.kind = COPY, .to = to, .from = from, .bytes = bytes});
}

PUBLIC CUresult cuMemcpyPeerAsync(CUdeviceptr to, Device *target, CUdeviceptr from, Device *origin, size_t bytes,
                                  void *handle)
{
    IN_CONTEXT;
    if (!is_live(to, bytes, target) || !is_live(from, bytes, origin)) return INVALID_VALUE;
    return enqueue(stream_of(handle, device), (Work){.kind = COPY, .to = to, .from = from, .bytes = bytes});
}

PUBLIC CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, void *handle)
{
    IN_CONTEXT;
    return enqueue(stream_of(handle, device), (Work){.kind = FILL, .to = to, .bytes = bytes, .value = value});
}

// ---- streams and events --------------------------------------------------------------------------------

PUBLIC CUresult cuStreamCreate(Stream **stream, unsigned flags)
{
    IN_CONTEXT;
    if (flags > 1) return INVALID_VALUE;
    *stream = calloc(1, sizeof **stream);
    (*stream)->device = device;
    (*stream)->next = streams;
    streams = *stream;
    return SUCCESS;
}

PUBLIC CUresult cuStreamDestroy_v2(Stream *stream)
{
    IN_CONTEXT;
    if ((uintptr_t)stream <= 2) return INVALID_HANDLE;
    finish(stream);
    for (Stream **place = &streams; *place; place = &(*place)->next)
        if (*place == stream) {
            *place = stream->next;
            emptied(&stream->captured);
            free(stream);
            return SUCCESS;
        }
    return INVALID_HANDLE;
}

PUBLIC CUresult cuStreamSynchronize(void *handle)
{
    IN_CONTEXT;
    Stream *stream = stream_of(handle, device);
    if (stream->is_capturing) {
        stream->is_spoiled = 1;
        return CAPTURE_UNSUPPORTED;
    }
    finish(stream);
    return device->failed;
}

PUBLIC CUresult cuEventCreate(Event **event, unsigned flags)
{
    IN_CONTEXT;
    if (flags > 7) return INVALID_VALUE;
    *event = calloc(1, sizeof **event);
    (*event)->device = device;
    (*event)->is_without_time = flags & 2;
    return SUCCESS;
}

PUBLIC CUresult cuEventDestroy_v2(Event *event)
{
    IN_CONTEXT;
    event->is_destroyed = 1;
    if (!event->waiting) free(event);
    return SUCCESS;
}

PUBLIC CUresult cuEventRecord(Event *event, void *handle)
{
    IN_CONTEXT;
    if (event->device != stream_of(handle, device)->device) return INVALID_HANDLE;
    event->stream = stream_of(handle, device);
    event->asked++;
    return enqueue(event->stream, (Work){.kind = RECORD, .event = event, .turn = event->asked});
}

PUBLIC CUresult cuStreamWaitEvent(void *handle, Event *event, unsigned flags)
{
    IN_CONTEXT;
    if (flags) return INVALID_VALUE;
    return enqueue(stream_of(handle, device), (Work){.kind = WAIT, .event = event, .turn = event->asked});
}

PUBLIC CUresult cuEventQuery(Event *event)
{
    IN_CONTEXT;
    return event->done < event->asked ? NOT_READY : SUCCESS;
}

PUBLIC CUresult cuEventSynchronize(Event *event)
{
    IN_CONTEXT;
    finish_until(event, event->asked);
    return device->failed;
}

PUBLIC CUresult cuEventElapsedTime_v2(float *milliseconds, Event *start, Event *end)
{
    IN_CONTEXT;
    if (!start->asked || !end->asked || start->is_without_time || end->is_without_time) return INVALID_HANDLE;
    if (start->done < start->asked || end->done < end->asked) return NOT_READY;
    *milliseconds = (float)(end->nanoseconds - start->nanoseconds) / 1e6f;
    return SUCCESS;
}

// ---- kernels -------------------------------------------------------------------------------------------

PUBLIC CUresult cuModuleLoadData(Module **module, const void *image)
{
    IN_CONTEXT;
    long number = on_load ? on_load(image, device->number) : 1;
    if (number < 0) return (CUresult)-number;
    *module = malloc(sizeof **module);
    **module = (Module){number, device, 0};
    return SUCCESS;
}

PUBLIC CUresult cuModuleUnload(Module *module)
{
    IN_CONTEXT;
    module->is_unloaded = 1;
    return SUCCESS;
}

PUBLIC CUresult cuModuleGetFunction(Function **function, Module *module, const char *name)
{
    IN_CONTEXT;
    int parameters = on_function ? on_function(module->number, name) : 0;
    if (parameters < 0) return NOT_FOUND;
    int threads = parameters >> 16, numbers = parameters >> 8 & 255;
    parameters &= 255;
    if (parameters > PARAMETERS) return INVALID_VALUE;
    static Function *all;  // they are few, and graphs may still hold them
    Function *made = calloc(1, sizeof *made);
    snprintf(made->name, sizeof made->name, "%s", name);
    made->module = module;
    made->parameters = parameters;
    made->numbers = numbers;
    made->threads = (unsigned)threads;
    made->shared_limit = 48 << 10;
    made->next = all;
    *function = all = made;
    return SUCCESS;
}

PUBLIC CUresult cuFuncSetAttribute(Function *function, int attribute, int value)
{
    IN_CONTEXT;
    if (attribute != 8 || value > 232448) return INVALID_VALUE;  // 8: the most dynamic shared memory
    function->shared_limit = (unsigned)value;
    return SUCCESS;
}

PUBLIC CUresult cuLaunchKernel(Function *function, unsigned x, unsigned y, unsigned z, unsigned block, unsigned block_y,
                               unsigned block_z, unsigned shared, void *handle, void **parameters, void **extra)
{
    (void)extra;
    IN_CONTEXT;
    Stream *stream = stream_of(handle, device);
    if (stream->device != device || function->module->device != device) return INVALID_HANDLE;
    if (function->module->is_unloaded) return INVALID_HANDLE;
    if (!x || x > INT32_MAX || y != 1 || z != 1 || !block || block > 1024 || block_y != 1 || block_z != 1) return INVALID_VALUE;
    if (shared > function->shared_limit) return INVALID_VALUE;
    if (function->threads && function->threads != block) return INVALID_VALUE;
    Work work = {.kind = LAUNCH, .function = function, .grid = x, .block = block, .shared = shared};
    for (int i = 0; i < function->parameters; i++) work.parameters[i] = *(uint64_t *)parameters[i];
    return enqueue(stream, work);
}

// ---- graphs --------------------------------------------------------------------------------------------

PUBLIC CUresult cuStreamBeginCapture_v2(Stream *stream, int mode)
{
    IN_CONTEXT;
    if (mode < 0 || mode > 2) return INVALID_VALUE;
    if ((uintptr_t)stream <= 2 || stream->is_capturing) return CAPTURE_UNSUPPORTED;
    stream->is_capturing = 1;
    stream->is_spoiled = 0;
    return SUCCESS;
}

PUBLIC CUresult cuStreamEndCapture(Stream *stream, Graph **graph)
{
    IN_CONTEXT;
    if (!stream->is_capturing) return INVALID_VALUE;
    stream->is_capturing = 0;
    *graph = NULL;
    if (stream->is_spoiled) {
        emptied(&stream->captured);
        return CAPTURE_INVALIDATED;
    }
    *graph = malloc(sizeof **graph);
    **graph = (Graph){device, stream->captured};
    stream->captured = (Queue){NULL, NULL};
    return SUCCESS;
}

PUBLIC CUresult cuGraphInstantiateWithFlags(Graph **made, Graph *graph, unsigned long long flags)
{
    IN_CONTEXT;
    if (flags) return INVALID_VALUE;  // none of them is for what is made here
    *made = calloc(1, sizeof **made);
    (*made)->device = device;
    for (Work *work = graph->work.first; work; work = work->next) appended(&(*made)->work, *work);
    return SUCCESS;
}

PUBLIC CUresult cuGraphLaunch(Graph *graph, void *handle)
{
    IN_CONTEXT;
    if (graph->device != device || stream_of(handle, device)->device != device) return INVALID_HANDLE;
    for (Work *work = graph->work.first; work; work = work->next) {
        CUresult result = enqueue(stream_of(handle, device), *work);
        if (result) return result;
    }
    return SUCCESS;
}

static void forget(Graph *graph)
{
    emptied(&graph->work);
    free(graph);
}

PUBLIC CUresult cuGraphDestroy(Graph *graph)
{
    IN_CONTEXT;
    forget(graph);
    return SUCCESS;
}

PUBLIC CUresult cuGraphExecDestroy(Graph *graph)
{
    IN_CONTEXT;
    forget(graph);
    return SUCCESS;
}

// ---- names ---------------------------------------------------------------------------------------------

PUBLIC CUresult cuGetErrorString(CUresult result, const char **text)
{
    (void)result;
    *text = "as the test wanted";
    return SUCCESS;
}

PUBLIC CUresult cuGetProcAddress_v2(const char *name, void **found, int cuda_version, uint64_t flags, int *status)
{
    (void)cuda_version, (void)flags;
    static void *self;
    if (!self) self = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    const char *endings[] = {"_v2", "WithFlags", ""};
    *found = NULL;
    for (int i = 0; i < 3 && !*found; i++) {
        char full[128];
        snprintf(full, sizeof full, "%s%s", name, endings[i]);
        *found = dlsym(self, full);
    }
    if (status) *status = *found ? 0 : 1;
    return *found ? SUCCESS : NOT_FOUND;
}

// ---- what tests ask for and set ------------------------------------------------------------------------

// Everything as at first. Memory that is live stays so, as its owners still know it.
PUBLIC void stub_reset(int count, size_t bytes)
{
    LOCKED;
    for (Stream *stream = streams; stream; stream = stream->next) finish(stream);
    for (int i = 0; i < DEVICES; i++) {
        finish(&default_streams[i]);
        size_t used = devices[i].used;
        devices[i] = (Device){.number = i, .major = 9, .minor = 0, .bytes = used + bytes, .used = used};
    }
    device_count = count;
    version = 13000;
    failing[0] = counted[0] = 0;
    calls = bad_frees = 0;
    is_eager = 0;
}

PUBLIC void stub_listen(OnLoad load, OnFunction function, OnLaunch launch)
{
    LOCKED;
    on_load = load, on_function = function, on_launch = launch;
}

PUBLIC void stub_describe(int device, int major, int minor, int driver)
{
    LOCKED;
    devices[device].major = major, devices[device].minor = minor, version = driver;
}

// The next call of a function gives this result and does nothing.
PUBLIC void stub_fail(const char *function, CUresult result)
{
    LOCKED;
    snprintf(failing, sizeof failing, "%s", function);
    failure = result;
}

// From now on work is done at once, as if the GPU were infinitely fast.
PUBLIC void stub_be_eager(int eager)
{
    LOCKED;
    is_eager = eager;
}

PUBLIC void stub_count(const char *function)
{
    LOCKED;
    snprintf(counted, sizeof counted, "%s", function);
    calls = 0;
}

PUBLIC long stub_calls(void)
{
    LOCKED;
    return calls;
}

PUBLIC size_t stub_used(int device)
{
    LOCKED;
    return devices[device].used;
}

PUBLIC long stub_bad_frees(void)
{
    LOCKED;
    return bad_frees;
}

PUBLIC int stub_depth(void)
{
    return depth;
}
