/* The guest side of Pirn's VM: one QuickJS context, a table of open calls, and the few entries the host uses.
 *
 * The engine is included as source, so that the shim can reach what its public header hides: the random state, the
 * frames of the running script, and the flag that marks built-ins (added by engine.edits).
 *
 * The host is the only reader of what leaves here and treats every pointer and length as hostile. */
#include "quickjs.c"

#define IMPORT(name) __attribute__((import_module("pirn"), import_name(#name)))
#define EXPORT(name) __attribute__((export_name(#name)))

/* Kinds of host_call. */
enum {
    CALL_TOOL = 0, CALL_GLOBAL = 1, CALL_TIMER_SET = 2, CALL_TIMER_CLEAR = 3,
    /* Answered at once; what comes back is written where the second range points. */
    CALL_EXPLAIN = 4, CALL_RANDOM = 5, CALL_DIGEST = 6, CALL_TIME_LEFT = 7, CALL_URL = 8,
    CALL_CANCEL = 9,
    /* What the host knows of the tools; the prelude asks. */
    CALL_TOOL_FIND = 10, CALL_TOOL_MEMBERS = 11, CALL_TOOL_LIST = 12,
};
/* Kinds of host_output that the shim itself sends; the prelude sends the others. */
enum { OUTPUT_STOP = 10, OUTPUT_UNCAUGHT = 11 };
/* Kinds of an entry in the batch given to vm_run. */
enum { ENTRY_START = 0, ENTRY_RESOLVE = 1, ENTRY_RESOLVE_UNDEFINED = 2, ENTRY_REJECT = 3, ENTRY_TIMER = 4 };
/* Results of vm_run. */
enum { RUN_WAITING = 0, RUN_FINISHED = 1, RUN_INTERRUPTED = 2, RUN_FATAL = 3 };
/* The most the host takes at once (MESSAGE_BYTES_MAX in host.rs). */
#define MESSAGE_BYTES_MAX (64u << 20)
/* Heap beyond the script's limit for saying how it ended, when it holds all it may have. */
#define REPORT_BYTES (1u << 20)

/* Returns 0 when the host has no room for the call until it has taken earlier ones. */
IMPORT(host_call)
int32_t host_call(int32_t kind, int32_t id, const char *first, size_t first_length, const char *second, size_t second_length);
IMPORT(host_output) void host_output(int32_t kind, const char *bytes, size_t length);
IMPORT(host_clock) int64_t host_clock(int32_t clock_id);
IMPORT(host_random) int64_t host_random(void);

/* wasi-libc would import these from the host; giving them a body here leaves the module with our four imports. */
int32_t __imported_wasi_snapshot_preview1_clock_time_get(int32_t id, int64_t precision, int32_t result)
{
    (void)precision;
    *(int64_t *)(uintptr_t)result = host_clock(id);
    return 0;
}
int32_t __imported_wasi_snapshot_preview1_fd_close(int32_t fd) { (void)fd; return 8; }
int32_t __imported_wasi_snapshot_preview1_fd_fdstat_get(int32_t fd, int32_t result) { (void)fd; (void)result; return 8; }
int32_t __imported_wasi_snapshot_preview1_fd_seek(int32_t fd, int64_t offset, int32_t whence, int32_t result)
{
    (void)fd; (void)offset; (void)whence; (void)result;
    return 8;
}
int32_t __imported_wasi_snapshot_preview1_fd_write(int32_t fd, int32_t vectors, int32_t count, int32_t result)
{
    (void)fd; (void)vectors; (void)count; (void)result;
    return 8;
}
_Noreturn void __imported_wasi_snapshot_preview1_proc_exit(int32_t code) { (void)code; __builtin_trap(); }

/* An open call: its promise, and where in the script it was made. */
typedef struct {
    JSValue promise;
    JSValue shape;        /* what the result's objects inherit from: [result, element], or undefined */
    JSValue caller;       /* the script's function that made the call, or undefined */
    uint32_t caller_pc;
    int32_t next_free;    /* index of the next free slot, or -1 */
    bool used;
} Slot;

static JSRuntime *runtime;
static JSContext *context;
static Slot *slots;
static int32_t slot_count, free_slot = -1;
static int32_t open_calls;
static JSAtom script_file;
static JSValue hook_start, hook_error, hook_timer, hook_missing, hook_written, hook_signal, hook_drained, hook_integers;
static JSValue hook_member, hook_members, hook_all_tools;
static int32_t report_exception(void);
static bool finished;
static bool is_past_end;    /* whether the script's last statement was reached */
static size_t heap_limit;   /* 0: none */
static volatile int32_t interrupt_flag;
static char *buffer;
static uint32_t buffer_capacity;

/* Tables whose missing members are answered by the prelude. Members that exist are found as fast as in any object. */
static JSClassID guard_class;

static int on_interrupt(JSRuntime *rt, void *opaque)
{
    (void)rt; (void)opaque;
    return interrupt_flag != 0;
}

/* The code of a frame that belongs to the script, else NULL. */
static JSFunctionBytecode *script_code(const JSStackFrame *frame)
{
    JSObject *function = JS_VALUE_GET_OBJ(frame->cur_func);
    if (!js_class_has_bytecode(function->class_id))
        return NULL;
    JSFunctionBytecode *code = function->u.func.function_bytecode;
    return code->filename == script_file && frame->cur_pc ? code : NULL;
}

/* The innermost frame that belongs to the script, else NULL. */
static JSStackFrame *script_frame(JSContext *ctx)
{
    JSStackFrame *frame = ctx->rt->current_stack_frame;
    while (frame && !script_code(frame))
        frame = frame->prev_frame;
    return frame;
}

/* The innermost frame of the script, for errors of calls that fail later. */
static void remember_caller(JSContext *ctx, Slot *slot)
{
    slot->caller = JS_UNDEFINED;
    JSStackFrame *frame = script_frame(ctx);
    if (frame) {
        slot->caller = js_dup(frame->cur_func);
        slot->caller_pc = frame->cur_pc - script_code(frame)->byte_code_buf - 1;
    }
}

static int32_t take_slot(JSContext *ctx)
{
    if (free_slot < 0) {
        int32_t count = slot_count ? slot_count * 2 : 16;
        Slot *grown = js_realloc(ctx, slots, (size_t)count * sizeof(Slot));
        if (!grown)
            return -1;
        slots = grown;
        for (int32_t i = count - 1; i >= slot_count; i--) {
            slots[i].used = false;
            slots[i].next_free = free_slot;
            free_slot = i;
        }
        slot_count = count;
    }
    int32_t id = free_slot;
    free_slot = slots[id].next_free;
    slots[id].used = true;
    open_calls++;
    return id;
}

static void release_slot(JSContext *ctx, int32_t id)
{
    Slot *slot = &slots[id];
    JS_FreeValue(ctx, slot->promise);
    JS_FreeValue(ctx, slot->shape);
    JS_FreeValue(ctx, slot->caller);
    open_calls--;
    slot->used = false;
    slot->next_free = free_slot;
    free_slot = id;
}

/* Throws where a message is larger than the host takes. */
static int check_message(JSContext *ctx, size_t length)
{
    if (length <= MESSAGE_BYTES_MAX)
        return 0;
    JS_ThrowRangeError(ctx, "%zu bytes are too much to hand over at once, the limit is %u", length, MESSAGE_BYTES_MAX);
    return -1;
}

/* A promise that the shim alone settles, so that it needs none of the functions that settle others. */
static JSValue pending_promise(JSContext *ctx)
{
    JSValue promise = JS_NewObjectClass(ctx, JS_CLASS_PROMISE);
    if (JS_IsException(promise))
        return promise;
    JSPromiseData *data = js_mallocz(ctx, sizeof *data);
    if (!data) {
        JS_FreeValue(ctx, promise);
        return JS_EXCEPTION;
    }
    data->promise_state = JS_PROMISE_PENDING;
    init_list_head(&data->promise_reactions[0]);
    init_list_head(&data->promise_reactions[1]);
    data->promise_result = JS_UNDEFINED;
    JS_SetOpaqueInternal(promise, data);
    return promise;
}

/* Opens a call of `name`, whose result has `shape`; `*opened` is its number. The argument is `written`, else `json` (undefined for
 * none). */
static JSValue open_call(JSContext *ctx, int32_t kind, JSValueConst name_value, JSValueConst json, const DynBuf *written,
                         JSValueConst shape, int32_t *opened)
{
    JSValue promise = pending_promise(ctx);
    if (JS_IsException(promise))
        return promise;
    int32_t id = take_slot(ctx);
    if (id < 0) {
        JS_FreeValue(ctx, promise);
        return JS_EXCEPTION;
    }
    Slot *slot = &slots[id];
    slot->promise = js_dup(promise);
    slot->shape = js_dup(shape);
    remember_caller(ctx, slot);
    size_t name_length = 0, arguments_length = 0;
    const char *name = JS_ToCStringLen(ctx, &name_length, name_value);
    const char *converted = NULL, *arguments = NULL;
    bool has_arguments = written || !JS_IsUndefined(json);
    if (written) {
        arguments = (const char *)written->buf;
        arguments_length = written->size;
    } else if (name && has_arguments) {
        arguments = converted = JS_ToCStringLen(ctx, &arguments_length, json);
    }
    bool is_open = false;
    if (name && (!has_arguments || arguments) && check_message(ctx, arguments_length) == 0) {
        is_open = host_call(kind, id, name, name_length, arguments, arguments_length) != 0;
        if (!is_open)
            JS_ThrowRangeError(ctx, "the script has made more calls at once than there is room for; await earlier calls first");
    }
    JS_FreeCString(ctx, name);
    JS_FreeCString(ctx, converted);
    if (!is_open) {
        release_slot(ctx, id);
        JS_FreeValue(ctx, promise);
        return JS_EXCEPTION;
    }
    *opened = id;
    return promise;
}

/* call(kind, name, argumentsJson | undefined) -> promise */
static JSValue native_call(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self; (void)argc;
    int32_t kind, opened;
    if (JS_ToInt32(ctx, &kind, argv[0]))
        return JS_EXCEPTION;
    return open_call(ctx, kind, argv[1], argv[2], NULL, JS_UNDEFINED, &opened);
}

#include "json.c"
#include "tools.c"

/* timer(CALL_TIMER_SET | CALL_TIMER_CLEAR, id, delayMs) */
static JSValue native_timer(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self; (void)argc;
    int32_t kind, id;
    uint32_t delay;
    if (JS_ToInt32(ctx, &kind, argv[0]) || JS_ToInt32(ctx, &id, argv[1]) || JS_ToUint32(ctx, &delay, argv[2]))
        return JS_EXCEPTION;
    host_call(kind, id, (const char *)(uintptr_t)delay, 0, NULL, 0);
    return JS_UNDEFINED;
}

/* Where an async function of the script stood that was freed before it had ended: nothing could ever wake it. */
static char lost_place[32];

/* "line:column" of a place in a function of the script. */
static void place_of(JSContext *ctx, JSFunctionBytecode *code, uint32_t pc, char *text, size_t size)
{
    int column, line = find_line_num(ctx, code, pc, &column);
    snprintf(text, size, "%d:%d", line, column);
}

/* site() -> "line:column" of the script's innermost frame, or undefined */
static JSValue native_site(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self; (void)argc; (void)argv;
    JSStackFrame *frame = script_frame(ctx);
    if (!frame)
        return JS_UNDEFINED;
    char text[32];
    JSFunctionBytecode *code = script_code(frame);
    place_of(ctx, code, frame->cur_pc - code->byte_code_buf - 1, text, sizeof text);
    return JS_NewString(ctx, text);
}

/* pastEnd(): the script's last statement was reached; it goes on until what it started has ended. */
static JSValue native_past_end(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)ctx; (void)self; (void)argc; (void)argv;
    is_past_end = true;
    return JS_UNDEFINED;
}

/* active() -> how many async functions have not ended */
static JSValue native_active(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)ctx; (void)self; (void)argc; (void)argv;
    return js_int32(async_functions_active);
}

/* collect(): frees what nothing can reach, async functions that wait for ever among it. */
static JSValue native_collect(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)ctx; (void)self; (void)argc; (void)argv;
    JS_RunGC(runtime);
    return JS_UNDEFINED;
}

static void async_function_lost(const JSStackFrame *frame)
{
    JSFunctionBytecode *code = frame->cur_pc ? script_code(frame) : NULL;
    if (code && !lost_place[0])
        place_of(context, code, frame->cur_pc - code->byte_code_buf - 1, lost_place, sizeof lost_place);
}

/* lost() -> "line:column" of an async function that can never end, or undefined */
static JSValue native_lost(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self; (void)argc; (void)argv;
    return lost_place[0] ? JS_NewString(ctx, lost_place) : JS_UNDEFINED;
}

/* unfinished() -> "line:column" of the places where async functions of the script wait */
static JSValue native_unfinished(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self; (void)argc; (void)argv;
    JSValue places = JS_NewArray(ctx);
    uint32_t count = 0;
    struct list_head *link;
    list_for_each(link, &ctx->rt->gc_obj_list) {
        JSGCObjectHeader *header = list_entry(link, JSGCObjectHeader, link);
        if (JS_GC_TYPE(header) != JS_GC_OBJ_TYPE_ASYNC_FUNCTION || JS_IsException(places) || count == 8)
            continue;
        JSAsyncFunctionData *data = (JSAsyncFunctionData *)header;
        JSFunctionBytecode *code = data->is_active ? script_code(&data->func_state.frame) : NULL;
        if (!code)
            continue;
        char text[32];
        place_of(ctx, code, data->func_state.frame.cur_pc - code->byte_code_buf - 1, text, sizeof text);
        JSValue place = JS_NewString(ctx, text);
        if (!JS_IsException(place))
            JS_DefinePropertyValueUint32(ctx, places, count++, place, JS_PROP_C_W_E);
    }
    return places;
}

/* parse(json) -> the value, integers exact */
static JSValue parse_exact(JSContext *ctx, const char *bytes, size_t length)
{
    json_exact_integers = true;
    JSValue value = JS_ParseJSON(ctx, bytes, length, "<value>");
    json_exact_integers = false;
    return value;
}

static JSValue native_parse(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self; (void)argc;
    size_t length;
    const char *bytes = JS_ToCStringLen(ctx, &length, argv[0]);
    if (!bytes)
        return JS_EXCEPTION;
    JSValue value = parse_exact(ctx, bytes, length);
    JS_FreeCString(ctx, bytes);
    return value;
}

/* timeLeft() -> milliseconds until the deadline; Infinity without one */
static JSValue native_time_left(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)ctx; (void)self; (void)argc; (void)argv;
    int32_t left = host_call(CALL_TIME_LEFT, 0, NULL, 0, NULL, 0);
    return left < 0 ? js_float64(INFINITY) : js_int32(left);
}

/* cancel(id): asks the host to stop an open call. */
static JSValue native_cancel(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self; (void)argc;
    int32_t id;
    if (JS_ToInt32(ctx, &id, argv[0]))
        return JS_EXCEPTION;
    if (id >= 0 && id < slot_count && slots[id].used)
        host_call(CALL_CANCEL, id, NULL, 0, NULL, 0);
    return JS_UNDEFINED;
}

/* random(arrayBuffer): fills it with random bytes of the host. */
static JSValue native_random(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self; (void)argc;
    size_t length;
    uint8_t *bytes = JS_GetArrayBuffer(ctx, &length, argv[0]);
    if (!bytes)
        return JS_EXCEPTION;
    host_call(CALL_RANDOM, 0, NULL, 0, (const char *)bytes, length);
    return JS_UNDEFINED;
}

/* digest(algorithm, arrayBuffer) -> an ArrayBuffer */
static JSValue native_digest(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self; (void)argc;
    int32_t algorithm;
    size_t length;
    uint8_t digest[64];
    if (JS_ToInt32(ctx, &algorithm, argv[0]))
        return JS_EXCEPTION;
    uint8_t *bytes = JS_GetArrayBuffer(ctx, &length, argv[1]);
    if (!bytes)
        return JS_EXCEPTION;
    int32_t written = host_call(CALL_DIGEST, algorithm, (const char *)bytes, length, (const char *)digest, sizeof digest);
    return JS_NewArrayBufferCopy(ctx, digest, written > 0 ? (size_t)written : 0);
}

/* url(request) -> the answer, or undefined where there is none */
static JSValue native_url(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self; (void)argc;
    size_t length;
    const char *request = JS_ToCStringLen(ctx, &length, argv[0]);
    if (!request)
        return JS_EXCEPTION;
    /* Every character may become nine, three percent escapes for three bytes of UTF-8. */
    size_t room = length * 9 + 64;
    char *answer = js_malloc(ctx, room);
    JSValue result = JS_EXCEPTION;
    if (answer) {
        int32_t written = host_call(CALL_URL, 0, request, length, answer, room);
        result = written < 0 ? JS_UNDEFINED : JS_NewStringLen(ctx, answer, (size_t)written);
        js_free(ctx, answer);
    }
    JS_FreeCString(ctx, request);
    return result;
}

/* output(kind, string) */
static JSValue native_output(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self; (void)argc;
    int32_t kind;
    if (JS_ToInt32(ctx, &kind, argv[0]))
        return JS_EXCEPTION;
    size_t length;
    const char *bytes = JS_ToCStringLen(ctx, &length, argv[1]);
    if (!bytes)
        return JS_EXCEPTION;
    int too_large = check_message(ctx, length);
    if (!too_large)
        host_output(kind, bytes, length);
    JS_FreeCString(ctx, bytes);
    return too_large ? JS_EXCEPTION : JS_UNDEFINED;
}

/* finish(): the script is over once the current job returns. */
static JSValue native_finish(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)ctx; (void)self; (void)argc; (void)argv;
    finished = true;
    return JS_UNDEFINED;
}

/* stop(): the script is over now; the host unwinds the guest, so nothing in here runs again. */
static JSValue native_stop(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)ctx; (void)self; (void)argc; (void)argv;
    host_output(OUTPUT_STOP, NULL, 0);
    __builtin_trap();
}

/* reserve(): gives a script that is over the little more memory it takes to say how it ended. */
static JSValue native_reserve(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)ctx; (void)self; (void)argc; (void)argv;
    JS_SetMemoryLimit(runtime, heap_limit ? heap_limit + REPORT_BYTES : 0);
    return JS_UNDEFINED;
}

/* giveUp(): the script is over, and there is no memory left to say how. */
static JSValue native_give_up(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)ctx; (void)self; (void)argc; (void)argv;
    __builtin_trap(); /* which the host reads as being out of memory */
}

/* freeze(object): frozen, and without the override mistake for objects that inherit from it. */
static JSValue native_freeze(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self; (void)argc;
    if (JS_FreezeObject(ctx, argv[0]) < 0)
        return JS_EXCEPTION;
    JS_VALUE_GET_OBJ(argv[0])->is_builtin = 1;
    return JS_UNDEFINED;
}

/* A VM's own randomness: the image would give every script the same. */
static void reseed(JSContext *ctx)
{
    ctx->random_state = (uint64_t)host_random();
    if (ctx->random_state == 0)
        ctx->random_state = 1;
}

/* Dynamic import has nothing to load; the message says what to do instead. */
static JSModuleDef *load_module(JSContext *ctx, const char *name, void *opaque)
{
    (void)opaque;
    JS_ThrowReferenceError(ctx, "cannot import \"%s\": scripts have no modules; call tools.<name>(args) instead", name);
    return NULL;
}

static char *normalize_module(JSContext *ctx, const char *base, const char *name, void *opaque)
{
    (void)base; (void)opaque;
    return js_strdup(ctx, name);
}

#include "explain.c"

/* Promises that were rejected while nobody listened, with their reasons; a Map that the prelude reads. */
static JSValue rejections;

/* A promise was rejected with nobody listening, or somebody came to listen. Calls no script code, since the stack may be full. */
static void on_rejection(JSContext *ctx, JSValueConst promise, JSValueConst reason, bool is_handled, void *opaque)
{
    (void)opaque;
    JSValueConst arguments[] = { promise, reason };
    JSValue exception = JS_GetException(ctx);
    JSValue result = is_handled ? js_map_delete(ctx, rejections, 1, arguments, 0) : js_map_set(ctx, rejections, 2, arguments, 0);
    if (JS_IsException(result)) {
        /* Without memory to note it down the rejection would pass in silence. */
        JS_FreeValue(ctx, JS_GetException(ctx));
        job_lost = true;
    }
    JS_FreeValue(ctx, result);
    JS_Throw(ctx, exception);
}

static void define_native(JSValueConst object, const char *name, JSCFunction *function, int length)
{
    JS_SetPropertyStr(context, object, name, JS_NewCFunction(context, function, name, length));
}

/* The files of the prelude, in the order in which they run. */
extern const char *const prelude_sources[];
extern const unsigned prelude_lengths[];
extern const unsigned prelude_count;

/* Says what went wrong while the image was made, and ends the build. */
static _Noreturn void build_failed(void)
{
    report_exception();
    __builtin_trap();
}

/* Runs once, at build time: what it leaves in memory is the image every VM starts from. */
EXPORT(vm_build) void vm_build(void)
{
    runtime = JS_NewRuntime();
    JS_SetMaxStackSize(runtime, 1 << 20);
    JS_SetInterruptHandler(runtime, on_interrupt, NULL);
    JS_SetModuleLoaderFunc(runtime, normalize_module, load_module, NULL);
    static JSClassExoticMethods guard_methods = {
        .get_property = guard_missing, .get_own_property = guard_own_property, .delete_property = guard_delete_property,
    };
    static const JSClassDef guard_definition = { "Object", .exotic = &guard_methods };
    JS_NewClassID(runtime, &guard_class);
    JS_NewClass(runtime, guard_class, &guard_definition);
    json_prototype = json_element_prototype = json_first_integer = JS_UNDEFINED;
    context = JS_NewContext(runtime);
    script_file = JS_ATOM_NULL;
    /* Promises are guarded too: a member that no promise has is read because somebody forgot to await. */
    JSValue promise_guard = JS_NewObjectProtoClass(context, context->class_proto[JS_CLASS_OBJECT], guard_class);
    JS_SetPrototype(context, context->class_proto[JS_CLASS_PROMISE], promise_guard);
    JSValue native = JS_NewObject(context);
    define_native(native, "call", native_call, 3);
    define_native(native, "tool", native_tool, 3);
    define_native(native, "guard", native_guard, 1);
    define_native(native, "member", native_member, 4);
    define_native(native, "lazy", native_lazy, 1);
    define_native(native, "ask", native_ask, 2);
    define_native(native, "plain", native_plain, 1);
    define_native(native, "parse", native_parse, 1);
    define_native(native, "timer", native_timer, 3);
    define_native(native, "active", native_active, 0);
    define_native(native, "lost", native_lost, 0);
    define_native(native, "collect", native_collect, 0);
    define_native(native, "site", native_site, 0);
    define_native(native, "pastEnd", native_past_end, 0);
    define_native(native, "unfinished", native_unfinished, 0);
    define_native(native, "timeLeft", native_time_left, 0);
    define_native(native, "cancel", native_cancel, 1);
    define_native(native, "random", native_random, 1);
    define_native(native, "digest", native_digest, 2);
    define_native(native, "url", native_url, 1);
    JS_SetPropertyStr(context, native, "promiseGuard", promise_guard);
    rejections = js_map_constructor(context, JS_UNDEFINED, 0, NULL, 0);
    JS_SetPropertyStr(context, native, "rejections", js_dup(rejections));
    define_native(native, "output", native_output, 2);
    define_native(native, "finish", native_finish, 0);
    define_native(native, "stop", native_stop, 0);
    define_native(native, "freeze", native_freeze, 1);
    define_native(native, "reserve", native_reserve, 0);
    define_native(native, "giveUp", native_give_up, 0);
    /* Each file is a function of the natives and of what the files before it leave in `hooks`. */
    JSValue hooks = JS_NewObject(context);
    for (unsigned i = 0; i < prelude_count; i++) {
        JSValue file = JS_Eval(context, prelude_sources[i], prelude_lengths[i], "pirn:prelude", JS_EVAL_TYPE_GLOBAL);
        JSValueConst arguments[] = { native, hooks };
        JSValue result = JS_IsException(file) ? JS_EXCEPTION : JS_Call(context, file, JS_UNDEFINED, 2, arguments);
        JS_FreeValue(context, file);
        if (JS_IsException(result))
            build_failed();
        JS_FreeValue(context, result);
    }
    JS_FreeValue(context, native);
    hook_start = JS_GetPropertyStr(context, hooks, "start");
    hook_error = JS_GetPropertyStr(context, hooks, "makeError");
    hook_timer = JS_GetPropertyStr(context, hooks, "fireTimer");
    hook_missing = JS_GetPropertyStr(context, hooks, "missing");
    hook_written = JS_GetPropertyStr(context, hooks, "writtenArgument");
    hook_signal = JS_GetPropertyStr(context, hooks, "heedSignal");
    hook_drained = JS_GetPropertyStr(context, hooks, "drained");
    hook_integers = JS_GetPropertyStr(context, hooks, "exactIntegers");
    hook_member = JS_GetPropertyStr(context, hooks, "member");
    hook_members = JS_GetPropertyStr(context, hooks, "members");
    hook_all_tools = JS_GetPropertyStr(context, hooks, "allTools");
    JS_SetHostPromiseRejectionTracker(runtime, on_rejection, NULL);
    JS_FreeValue(context, hooks);
    JS_RunGC(runtime);
}

/* Bytes a script allocates before garbage is first looked for. Looking touches every object of the image, which makes a page
 * of it private to the VM; most scripts end before that. */
enum { FIRST_COLLECTION_BYTES = 4 << 20 };

/* Limits of a fresh or restored VM. The heap limit counts what the script allocates, beyond the image. Returns where the host
 * writes a non-zero word to stop the script with a stack trace. */
EXPORT(vm_limits) uint32_t vm_limits(uint32_t heap_bytes, uint32_t stack_bytes, int32_t fresh)
{
    static size_t image_bytes;
    if (fresh) {
        image_bytes = runtime->malloc_state.malloc_size;
        reseed(context);
        uint32_t first = heap_bytes && heap_bytes / 2 < FIRST_COLLECTION_BYTES ? heap_bytes / 2 : FIRST_COLLECTION_BYTES;
        JS_SetGCThreshold(runtime, image_bytes + first);
    }
    heap_limit = heap_bytes ? image_bytes + heap_bytes : 0;
    JS_SetMemoryLimit(runtime, heap_limit);
    JS_SetMaxStackSize(runtime, stack_bytes);
    JS_UpdateStackTop(runtime);
    return (uint32_t)(uintptr_t)&interrupt_flag;
}

/* A buffer of at least `length` bytes for the next vm_run, or 0 when memory is out. */
EXPORT(vm_buffer) char *vm_buffer(uint32_t length)
{
    if (length > buffer_capacity) {
        free(buffer);
        buffer = malloc(length);
        buffer_capacity = buffer ? length : 0;
    }
    return buffer;
}

/* Frees a buffer that one large result made large. */
static void trim_buffer(void)
{
    if (buffer_capacity > 256 * 1024) {
        free(buffer);
        buffer = NULL;
        buffer_capacity = 0;
    }
}

static void put_json_string(DynBuf *out, const unsigned char *text, size_t length)
{
    dbuf_putc(out, '"');
    for (size_t i = 0; i < length; i++) {
        unsigned char c = text[i];
        if (c == '"' || c == '\\')
            dbuf_printf(out, "\\%c", c);
        else if (c < 0x20)
            dbuf_printf(out, "\\u%04x", c);
        else if (c == 0xED && i + 2 < length && text[i + 1] >= 0xA0) {
            /* A lone surrogate, which UTF-8 cannot hold. */
            dbuf_printf(out, "\\ud%03x", (text[i + 1] & 0x3F) << 6 | (text[i + 2] & 0x3F));
            i += 2;
        } else
            dbuf_putc(out, c);
    }
    dbuf_putc(out, '"');
}

/* A string property of an error or its prototypes, without running a getter: the limits may be off already. */
static JSValue plain_string(JSValueConst error, const char *name)
{
    JSValue found = JS_UNDEFINED;
    JSAtom atom = JS_NewAtom(context, name);
    for (JSObject *object = JS_VALUE_GET_OBJ(error); object; object = object->shape->proto) {
        if (object->class_id != JS_CLASS_ERROR && object->class_id != JS_CLASS_OBJECT)
            break;
        JSProperty *property;
        JSShapeProperty *shape = find_own_property(&property, object, atom);
        if (!shape)
            continue;
        if ((shape->flags & JS_PROP_TMASK) == JS_PROP_NORMAL && JS_IsString(property->u.value))
            found = js_dup(property->u.value);
        break;
    }
    JS_FreeAtom(context, atom);
    return found;
}

/* Reports the pending exception without running any script code. What got here was thrown outside of any promise: by a
 * callback of the engine's own queue, by an interruption, or because memory is out. */
static int32_t report_exception(void)
{
    JSValue error = JS_GetException(context);
    bool is_interrupt = JS_IsUncatchableError(error);
    bool is_object = JS_IsObject(error) && JS_VALUE_GET_OBJ(error)->class_id == JS_CLASS_ERROR;
    interrupt_flag = 0;
    JS_SetMemoryLimit(runtime, heap_limit ? heap_limit + REPORT_BYTES : 0);
    DynBuf out;
    dbuf_init(&out);
    dbuf_putc(&out, '{');
    if (is_object) {
        const char *fields[] = { "name", "message", "stack" };
        bool first = true;
        for (int i = 0; i < 3; i++) {
            JSValue value = plain_string(error, fields[i]);
            /* The engine keeps the stack inside the error; a script's own property hides it. */
            if (i == 2 && JS_IsUndefined(value))
                value = js_dup(JS_VALUE_GET_OBJ(error)->u.object_data);
            size_t length;
            const char *text = JS_IsString(value) ? JS_ToCStringLen(context, &length, value) : NULL;
            if (text) {
                dbuf_printf(&out, "%s\"%s\":", first ? "" : ",", fields[i]);
                put_json_string(&out, (const unsigned char *)text, length);
                first = false;
                JS_FreeCString(context, text);
            }
            JS_FreeValue(context, value);
        }
    } else if (JS_IsString(error)) {
        size_t length;
        const char *text = JS_ToCStringLen(context, &length, error);
        if (text) {
            dbuf_printf(&out, "\"message\":");
            put_json_string(&out, (const unsigned char *)text, length);
        }
    }
    dbuf_putc(&out, '}');
    bool is_memory = JS_IsNull(error) || JS_IsUninitialized(error) || dbuf_error(&out) || out.size > MESSAGE_BYTES_MAX;
    if (!is_memory || is_interrupt)
        host_output(OUTPUT_UNCAUGHT, dbuf_error(&out) ? "{}" : (const char *)out.buf, dbuf_error(&out) ? 2 : out.size);
    if (is_interrupt)
        return RUN_INTERRUPTED;
    return is_memory ? RUN_FATAL : RUN_FINISHED;
}

static uint32_t read_word(const char *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* "tools.name (file:line:column)" of the place a call was made, or undefined. */
static JSValue call_site(const Slot *slot)
{
    if (JS_IsUndefined(slot->caller))
        return JS_UNDEFINED;
    JSFunctionBytecode *code = JS_VALUE_GET_OBJ(slot->caller)->u.func.function_bytecode;
    const char *file = JS_AtomToCString(context, script_file);
    char place[32], text[512];
    place_of(context, code, slot->caller_pc, place, sizeof place);
    snprintf(text, sizeof text, "%s:%s", file ? file : "script", place);
    JS_FreeCString(context, file);
    JSValue site = JS_NewString(context, text);
    if (JS_IsException(site)) {
        /* An error without its place is better than none. */
        JS_FreeValue(context, JS_GetException(context));
        return JS_UNDEFINED;
    }
    return site;
}

/* A call's result as a value; a note tells where integers became BigInts. */
static JSValue parse_result(const Slot *slot, const char *bytes, uint32_t length)
{
    JSValue shape[2] = { JS_UNDEFINED, JS_UNDEFINED };
    if (JS_IsObject(slot->shape))
        for (uint32_t i = 0; i < 2; i++)
            shape[i] = JS_GetPropertyUint32(context, slot->shape, i);
    json_prototype = shape[0];
    json_element_prototype = shape[1];
    json_depth = 0;
    JSValue value = parse_exact(context, bytes, length);
    json_depth = -1;
    json_prototype = json_element_prototype = JS_UNDEFINED;
    JS_FreeValue(context, shape[0]);
    JS_FreeValue(context, shape[1]);
    if (!JS_IsUndefined(json_first_integer)) {
        JSValue first = json_first_integer;
        json_first_integer = JS_UNDEFINED;
        if (!JS_IsException(value)) {
            JSValue told = JS_Call(context, hook_integers, JS_UNDEFINED, 1, (JSValueConst *)&first);
            if (JS_IsException(told)) {
                JS_FreeValue(context, value);
                value = told;
            }
            JS_FreeValue(context, told);
        }
        JS_FreeValue(context, first);
    }
    return value;
}

/* Applies one entry. Returns 0, or -1 with an exception pending. */
static int apply_entry(uint32_t kind, uint32_t id, const char *bytes, uint32_t length)
{
    JSValue result;
    if (kind == ENTRY_START) {
        /* bytes: file name length, file name, config length, config, source (each NUL-terminated). */
        uint32_t file_length = read_word(bytes);
        const char *file = bytes + 4;
        uint32_t config_length = read_word(file + file_length + 1);
        const char *config = file + file_length + 1 + 4;
        const char *source = config + config_length + 1;
        script_file = JS_NewAtom(context, file);
        JSValue settings = JS_ParseJSON(context, config, config_length, "<config>");
        if (JS_IsException(settings))
            return -1;
        JSEvalOptions options = {
            .version = JS_EVAL_OPTIONS_VERSION, .eval_flags = JS_EVAL_TYPE_GLOBAL, .filename = file,
            .line_num = (int)id, /* the wrapper's own line comes before the script's first */
        };
        JSValue function = JS_Eval2(context, source, length - (uint32_t)(source - bytes), &options);
        JSValue failure = JS_UNDEFINED;
        if (JS_IsException(function)) {
            failure = JS_GetException(context);
            if (JS_IsUncatchableError(failure) || JS_IsNull(failure)) {
                JS_Throw(context, failure);
                return -1;
            }
            function = JS_UNDEFINED;
        }
        JSValueConst arguments[] = { settings, function, failure };
        result = JS_Call(context, hook_start, JS_UNDEFINED, 3, arguments);
        JS_FreeValue(context, settings);
        JS_FreeValue(context, function);
        JS_FreeValue(context, failure);
    } else if (kind == ENTRY_TIMER) {
        JSValue timer = JS_NewInt32(context, (int32_t)id);
        result = JS_Call(context, hook_timer, JS_UNDEFINED, 1, (JSValueConst *)&timer);
    } else {
        if (id >= (uint32_t)slot_count || !slots[id].used)
            return 0;
        JSValue value = JS_UNDEFINED;
        bool rejects = kind == ENTRY_REJECT;
        if (kind == ENTRY_REJECT)
            value = parse_exact(context, bytes, length);
        else if (kind != ENTRY_RESOLVE_UNDEFINED)
            value = parse_result(&slots[id], bytes, length);
        if (rejects && !JS_IsException(value)) {
            JSValue site = call_site(&slots[id]);
            JSValueConst arguments[] = { value, site };
            JSValue error = JS_Call(context, hook_error, JS_UNDEFINED, 2, arguments);
            JS_FreeValue(context, value);
            JS_FreeValue(context, site);
            value = error;
        }
        if (JS_IsException(value)) {
            value = JS_GetException(context);
            if (JS_IsUncatchableError(value)) {
                JS_Throw(context, value);
                return -1;
            }
            rejects = true;
        }
        JSValue promise = js_dup(slots[id].promise);
        release_slot(context, (int32_t)id);
        /* What comes from JSON has no `then` that could be called. */
        fulfill_or_reject_promise(context, promise, value, rejects);
        JS_FreeValue(context, promise);
        JS_FreeValue(context, value);
        result = JS_UNDEFINED;
    }
    if (JS_IsException(result))
        return -1;
    JS_FreeValue(context, result);
    return 0;
}

/* Runs promise jobs until none is left. Looks at the flag between jobs, since short jobs poll it too rarely. */
static int32_t run_jobs(void)
{
    JSContext *job_context;
    while (!finished) {
        if (interrupt_flag) {
            JS_ThrowInterrupted(context);
            return report_exception();
        }
        if (job_lost)
            return RUN_FATAL;
        int ran = JS_ExecutePendingJob(runtime, &job_context);
        if (ran == 0)
            break;
        if (ran < 0)
            return report_exception();
    }
    return finished ? RUN_FINISHED : RUN_WAITING;
}

/* Asks the prelude whether a script whose last statement was reached is over, now that no call is open. */
static int32_t end_if_idle(void)
{
    if (open_calls > 0)
        return RUN_WAITING;
    JSValue result = JS_Call(context, hook_drained, JS_UNDEFINED, 0, NULL);
    if (JS_IsException(result))
        return report_exception();
    JS_FreeValue(context, result);
    return run_jobs();
}

/* Applies a batch of entries in order, running all jobs after each, so that batching cannot be observed.
 * Entry: kind, id, length (u32 each, little-endian), then the bytes, a NUL, and padding to four bytes. */
EXPORT(vm_run) int32_t vm_run(uint32_t length)
{
    JS_UpdateStackTop(runtime);
    const char *at = buffer, *end = buffer + length;
    int32_t outcome = RUN_WAITING;
    while (outcome == RUN_WAITING && end - at >= 12) {
        uint32_t kind = read_word(at), id = read_word(at + 4), size = read_word(at + 8);
        const char *bytes = at + 12;
        if ((uint32_t)(end - bytes) < size)
            break;
        if (apply_entry(kind, id, bytes, size))
            return report_exception();
        outcome = run_jobs();
        if (outcome == RUN_WAITING && is_past_end)
            outcome = end_if_idle();
        at = bytes + ((size + 1 + 3) & ~3u);
    }
    trim_buffer();
    return outcome;
}

/* Bytes in use by the script's heap. */
EXPORT(vm_heap_bytes) uint32_t vm_heap_bytes(void) { return (uint32_t)runtime->malloc_state.malloc_size; }
