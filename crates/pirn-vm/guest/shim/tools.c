/* Part of shim.c: what a call takes and gives, and tables that say what they do not have. */

/* A promise that is rejected with the pending exception; an uncatchable one stays pending. */
static JSValue rejected_promise(JSContext *ctx)
{
    if (JS_IsUncatchableError(ctx->rt->current_exception))
        return JS_EXCEPTION;
    JSValue error = JS_GetException(ctx);
    JSValue settle[2];
    JSValue promise = JS_NewPromiseCapability(ctx, settle);
    if (!JS_IsException(promise)) {
        JS_FreeValue(ctx, JS_Call(ctx, settle[1], JS_UNDEFINED, 1, (JSValueConst *)&error));
        JS_FreeValue(ctx, settle[0]);
        JS_FreeValue(ctx, settle[1]);
    }
    JS_FreeValue(ctx, error);
    return promise;
}

/* plain(value) -> whether JSON keeps all of it */
static JSValue native_plain(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self; (void)argc;
    return js_bool(write_plain(ctx, NULL, argv[0]));
}

/* A member of `tools`: turns its first argument into JSON and opens a call. An argument that cannot be handed over rejects.
 * data: [name, shape | undefined, whether it takes a BigInt] */
static JSValue tool_function(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int magic, JSValueConst *data)
{
    (void)self; (void)magic;
    JSValue json = JS_UNDEFINED;
    const DynBuf *written = NULL;
    if (argc >= 1 && !JS_IsUndefined(argv[0])) {
        /* Options may have a getter that makes another call before this one is handed over. */
        if (argc < 2 || !JS_IsObject(argv[1]))
            written = plain_json(ctx, argv[0]);
        if (!written) {
            JSValueConst arguments[] = { argv[0], data[0] };
            json_refuses_bigint = !JS_ToBool(ctx, data[2]);
            json = JS_Call(ctx, hook_written, JS_UNDEFINED, 2, arguments);
            json_refuses_bigint = false;
        }
    }
    if (JS_IsException(json))
        return rejected_promise(ctx);
    int32_t opened;
    JSValue signal = JS_UNDEFINED;
    if (argc >= 2 && JS_IsObject(argv[1])) {
        signal = JS_GetPropertyStr(ctx, argv[1], "signal");
        if (JS_IsException(signal)) {
            JS_FreeValue(ctx, json);
            return rejected_promise(ctx);
        }
    }
    if (JS_IsUndefined(signal)) {
        JSValue promise = open_call(ctx, CALL_TOOL, data[0], json, written, data[1], &opened);
        JS_FreeValue(ctx, json);
        return promise;
    }
    /* signal(signal) throws where it is none or has been used; signal(signal, promise, id) makes the promise heed it. */
    JSValue promise = JS_EXCEPTION;
    JSValue checked = JS_Call(ctx, hook_signal, JS_UNDEFINED, 1, (JSValueConst *)&signal);
    if (!JS_IsException(checked))
        promise = open_call(ctx, CALL_TOOL, data[0], json, written, data[1], &opened);
    if (!JS_IsException(promise)) {
        JSValueConst arguments[] = { signal, promise, JS_NewInt32(ctx, opened) };
        JSValue heeding = JS_Call(ctx, hook_signal, JS_UNDEFINED, 3, arguments);
        JS_FreeValue(ctx, promise);
        promise = heeding;
    }
    JS_FreeValue(ctx, json);
    JS_FreeValue(ctx, signal);
    return JS_IsException(promise) ? rejected_promise(ctx) : promise;
}

/* tool(name, shape | undefined, takesBigInt) -> the function that calls that tool */
static JSValue native_tool(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self; (void)argc;
    const char *name = JS_ToCString(ctx, argv[0]);
    if (!name)
        return JS_EXCEPTION;
    JSValue function = JS_NewCFunctionData2(ctx, tool_function, name, 0, 0, 3, argv);
    JS_FreeCString(ctx, name);
    return function;
}

/* Whether the instruction that is running reads a member for a pattern that has a default for it. */
static bool has_default(JSContext *ctx)
{
    JSStackFrame *frame = ctx->rt->current_stack_frame;
    JSFunctionBytecode *code = frame ? script_code(frame) : NULL;
    if (!code)
        return false;
    const uint8_t *pc = frame->cur_pc, *end = code->byte_code_buf + code->byte_code_len;
    if (end - pc < 3 || pc[0] != OP_dup)
        return false;
    return (pc[1] == OP_undefined && pc[2] == OP_strict_eq) || pc[1] == OP_is_undefined;
}

/* Makes a member of the lazy table. Returns 1 when the table has it now, 0 when it has none of this name, -1 with an exception. */
static int make_member(JSContext *ctx, JSValueConst table, JSAtom atom)
{
    if (JS_VALUE_GET_OBJ(table) != lazy_table || is_symbol(ctx, atom))
        return 0;
    JSValue key = JS_AtomToString(ctx, atom);
    if (JS_IsException(key))
        return -1;
    JSValue made = JS_Call(ctx, hook_member, JS_UNDEFINED, 1, (JSValueConst *)&key);
    JS_FreeValue(ctx, key);
    return JS_IsException(made) ? -1 : JS_ToBoolFree(ctx, made);
}

/* Makes all members of the lazy table, in their order, whichever were made before. */
static int make_all_members(JSContext *ctx)
{
    JSObject *table = lazy_table;
    JSValue full = JS_Call(ctx, hook_members, JS_UNDEFINED, 0, NULL);
    if (JS_IsException(full))
        return -1;
    JSObject *other = JS_VALUE_GET_OBJ(full);
    JSShape *shape = table->shape;
    JSProperty *members = table->prop;
    table->shape = other->shape;
    table->prop = other->prop;
    other->shape = shape;
    other->prop = members;
    lazy_table = NULL;
    JS_FreeValue(ctx, full);
    return 0;
}

static JSValue lazy_global(JSContext *ctx)
{
    return JS_Call(ctx, hook_all_tools, JS_UNDEFINED, 0, NULL);
}

static int guard_own_property(JSContext *ctx, JSPropertyDescriptor *descriptor, JSValueConst table, JSAtom atom)
{
    int made = make_member(ctx, table, atom);
    return made > 0 ? JS_GetOwnPropertyInternal(ctx, descriptor, JS_VALUE_GET_OBJ(table), atom) : made;
}

/* Members of the lazy table stay; of others, there is none here to be deleted. */
static int guard_delete_property(JSContext *ctx, JSValueConst table, JSAtom atom)
{
    int made = make_member(ctx, table, atom);
    return made < 0 ? -1 : !made;
}

/* member(table, key, value, enumerable): adds a member to a table, also to one that the script finds frozen. */
static JSValue native_member(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self; (void)argc;
    JSAtom atom = JS_ValueToAtom(ctx, argv[1]);
    if (atom == JS_ATOM_NULL)
        return JS_EXCEPTION;
    JSProperty *added = add_property(ctx, JS_VALUE_GET_OBJ(argv[0]), atom, JS_ToBool(ctx, argv[3]) ? JS_PROP_ENUMERABLE : 0);
    JS_FreeAtom(ctx, atom);
    if (!added)
        return JS_EXCEPTION;
    added->u.value = js_dup(argv[2]);
    return JS_UNDEFINED;
}

/* lazy(table): from here on its members, and the list of all tools, are made when they are asked for. */
static JSValue native_lazy(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self; (void)argc;
    JSAtom name = JS_NewAtom(ctx, "ALL_TOOLS");
    int defined = JS_DefineAutoInitProperty(ctx, ctx->global_obj, name, JS_AUTOINIT_ID_PROP, NULL, 0);
    JS_FreeAtom(ctx, name);
    if (defined < 0)
        return JS_EXCEPTION;
    lazy_table = JS_VALUE_GET_OBJ(argv[0]);
    return JS_UNDEFINED;
}

/* ask(kind, name) -> what the host knows of the tools, or undefined */
static JSValue native_ask(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self; (void)argc;
    int32_t kind;
    size_t name_length;
    if (JS_ToInt32(ctx, &kind, argv[0]))
        return JS_EXCEPTION;
    const char *name = JS_ToCStringLen(ctx, &name_length, argv[1]);
    if (!name)
        return JS_EXCEPTION;
    char few[1024];
    JSValue answer = JS_UNDEFINED;
    /* The host says how long the answer is, and writes it where there is room for it. */
    int32_t length = host_call(kind, 0, name, name_length, few, sizeof few);
    if (length >= 0 && (size_t)length <= sizeof few) {
        answer = JS_NewStringLen(ctx, few, (size_t)length);
    } else if (length >= 0) {
        char *many = js_malloc(ctx, (size_t)length);
        answer = JS_EXCEPTION;
        if (many) {
            host_call(kind, 0, name, name_length, many, (size_t)length);
            answer = JS_NewStringLen(ctx, many, (size_t)length);
            js_free(ctx, many);
        }
    }
    JS_FreeCString(ctx, name);
    return answer;
}

/* What a guarded table does not have itself: what it inherits, or what the prelude says. */
static JSValue guard_missing(JSContext *ctx, JSValueConst table, JSAtom atom, JSValueConst receiver)
{
    int made = make_member(ctx, table, atom);
    if (made)
        return made < 0 ? JS_EXCEPTION : JS_GetPropertyInternal(ctx, table, atom, receiver, false);
    JSObject *prototype = JS_VALUE_GET_OBJ(table)->shape->proto;
    if (prototype) {
        JSValue found = JS_GetPropertyInternal(ctx, JS_MKPTR(JS_TAG_OBJECT, prototype), atom, receiver, false);
        if (!JS_IsUndefined(found))
            return found;
    }
    if (atom == JS_ATOM_then || atom == JS_ATOM_toJSON || __JS_AtomIsTaggedInt(atom) || is_symbol(ctx, atom) || has_default(ctx))
        return JS_UNDEFINED;
    JSValue key = JS_AtomToValue(ctx, atom);
    JSValueConst arguments[] = { table, key };
    JSValue result = JS_Call(ctx, hook_missing, JS_UNDEFINED, 2, arguments);
    JS_FreeValue(ctx, key);
    return result;
}

/* guard(prototype | null) -> an empty table that inherits from it */
static JSValue native_guard(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self; (void)argc;
    return JS_NewObjectProtoClass(ctx, argv[0], guard_class);
}
