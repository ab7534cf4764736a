/* Part of shim.c: how results are parsed, and errors and places told. */

static JSValue json_object(JSContext *ctx)
{
    if (json_depth == 0 && JS_IsObject(json_prototype))
        return JS_NewObjectProto(ctx, json_prototype);
    if (json_depth == 1 && JS_IsObject(json_element_prototype))
        return JS_NewObjectProto(ctx, json_element_prototype);
    return JS_NewObject(ctx);
}

static JSValue json_array(JSContext *ctx)
{
    if (json_depth == 0 && JS_IsObject(json_prototype) && JS_IsObject(json_element_prototype))
        return JS_NewObjectProtoClass(ctx, json_prototype, JS_CLASS_ARRAY);
    return JS_NewArray(ctx);
}

/* Digits of the longest integer that a double may hold exactly, and of the longest that 64 bits do. */
enum { SMALL_DIGITS_MAX = 9, SAFE_DIGITS_MAX = 15, EXACT_DIGITS_MAX = 20 };

/* The BigInt for an integer that a number cannot hold, else undefined. */
static JSValue json_integer(JSContext *ctx, const char *start, const char *end)
{
    /* Most numbers are small; the library's conversion computes with 128 bits, which takes as long as a call's other work. */
    if (end - start <= SMALL_DIGITS_MAX && *start >= '1') {
        int32_t small = 0;
        const char *at = start;
        for (; at < end && *at >= '0' && *at <= '9'; at++)
            small = small * 10 + (*at - '0');
        if (at == end)
            return js_int32(small);
    }
    const char *digits = start + (*start == '-' || *start == '+');
    if (!json_exact_integers)
        return JS_UNDEFINED;
    if (end - digits <= SAFE_DIGITS_MAX || end - digits > EXACT_DIGITS_MAX)
        return JS_UNDEFINED;
    for (const char *at = digits; at < end; at++)
        if (*at < '0' || *at > '9')
            return JS_UNDEFINED;
    double nearest = strtod(start, NULL);
    /* Beyond 64 bits no host keeps the digits, so a number is as good. */
    if (fabs(nearest) <= 9007199254740991.0 || nearest < -9223372036854775808.0 || nearest > 18446744073709551615.0)
        return JS_UNDEFINED;
    JSValue value = JS_StringToBigIntErr(ctx, JS_NewStringLen(ctx, start, (size_t)(end - start)));
    if (!JS_IsException(value) && JS_IsUndefined(json_first_integer))
        json_first_integer = js_dup(value);
    return value;
}

/* The column, in UTF-16 units from 1, of what stands at `at` in the line that begins after `line_end_before`. Goes on where the
 * last look at the same line ended, so that a long line is read once. */
static int utf16_column(const uint8_t *line_end_before, const uint8_t *at)
{
    static const uint8_t *line, *seen;
    static int surplus;
    if (line != line_end_before || at < seen) {
        line = line_end_before;
        seen = line_end_before + 1;
        surplus = 0;
    }
    for (; seen < at; seen++) {
        /* Of two bytes one unit, of three one, of four two. */
        if (*seen >= 0xE0)
            surplus += 2;
        else if (*seen >= 0xC0)
            surplus += 1;
    }
    return (int)(at - line_end_before) - surplus;
}

static void blame(JSValueConst value, JSValueConst receiver)
{
    blamed_value = value;
    blamed_receiver = receiver;
    has_blamed = true;
}

/* Members of an object that a sentence about it names, and characters of a string. */
enum { MEMBERS_TOLD_MAX = 6, CHARACTERS_TOLD_MAX = 40 };

/* Says what a value is, without running any of the script's code. */
static void describe_value(JSContext *ctx, JSValueConst value, DynBuf *out)
{
    switch (JS_VALUE_GET_NORM_TAG(value)) {
    case JS_TAG_UNDEFINED:
        dbuf_putstr(out, "undefined");
        return;
    case JS_TAG_NULL:
        dbuf_putstr(out, "null");
        return;
    case JS_TAG_BOOL:
        dbuf_putstr(out, JS_VALUE_GET_BOOL(value) ? "true" : "false");
        return;
    case JS_TAG_INT:
        dbuf_printf(out, "the number %d", JS_VALUE_GET_INT(value));
        return;
    case JS_TAG_FLOAT64:
        dbuf_printf(out, "the number %.17g", JS_VALUE_GET_FLOAT64(value));
        return;
    case JS_TAG_SHORT_BIG_INT:
    case JS_TAG_BIG_INT:
        dbuf_putstr(out, "a BigInt");
        return;
    case JS_TAG_SYMBOL:
        dbuf_putstr(out, "a symbol");
        return;
    case JS_TAG_STRING:
    case JS_TAG_STRING_ROPE:
        dbuf_putstr(out, "a string");
        return;
    case JS_TAG_OBJECT:
        break;
    default:
        dbuf_putstr(out, "a value");
        return;
    }
    JSObject *object = JS_VALUE_GET_OBJ(value);
    switch (object->class_id) {
    case JS_CLASS_ARRAY:
        if (object->fast_array)
            dbuf_printf(out, "an array of %u", object->u.array.count);
        else
            dbuf_putstr(out, "an array");
        return;
    case JS_CLASS_PROMISE: dbuf_putstr(out, "a promise"); return;
    case JS_CLASS_ERROR: dbuf_putstr(out, "an error"); return;
    case JS_CLASS_DATE: dbuf_putstr(out, "a Date"); return;
    case JS_CLASS_REGEXP: dbuf_putstr(out, "a regular expression"); return;
    case JS_CLASS_MAP: dbuf_putstr(out, "a Map"); return;
    case JS_CLASS_SET: dbuf_putstr(out, "a Set"); return;
    case JS_CLASS_PROXY: dbuf_putstr(out, "a proxy"); return;
    default: break;
    }
    if (JS_IsFunction(ctx, value)) {
        dbuf_putstr(out, "a function");
        return;
    }
    dbuf_putstr(out, "an object");
    JSShapeProperty *shape = get_shape_prop(object->shape);
    int told = 0;
    for (int i = 0; i < object->shape->prop_count; i++, shape++) {
        if (shape->atom == JS_ATOM_NULL || is_symbol(ctx, shape->atom))
            continue;
        if (told == MEMBERS_TOLD_MAX) {
            dbuf_putstr(out, ", ...");
            break;
        }
        char name[64];
        dbuf_printf(out, "%s%s", told == 0 ? " with " : ", ", JS_AtomGetStr(ctx, name, sizeof name, shape->atom));
        told++;
    }
    if (told == 0)
        dbuf_putstr(out, " without members");
}

/* Lets the host, which has the script's text, say in its words what the engine says in its own. */
static void explain_error(JSContext *ctx, int error_num, char *message, size_t size)
{
    bool was_blamed = has_blamed;
    has_blamed = false;
    if ((error_num != JS_TYPE_ERROR && error_num != JS_REFERENCE_ERROR) || ctx->rt->in_out_of_memory)
        return;
    JSStackFrame *innermost = ctx->rt->current_stack_frame, *frame = script_frame(ctx);
    /* At most one built-in between the error and the script; deeper ones are not the script's words. */
    if (!frame || (frame != innermost && innermost->prev_frame != frame))
        return;
    JSFunctionBytecode *code = script_code(frame);
    DynBuf out;
    dbuf_init(&out);
    char place[32];
    place_of(ctx, code, frame->cur_pc - code->byte_code_buf - 1, place, sizeof place);
    dbuf_printf(&out, "%s\n%s\n%s\n", place, frame == innermost ? "" : "native", message);
    if (was_blamed) {
        describe_value(ctx, blamed_value, &out);
        dbuf_putc(&out, '\n');
        describe_value(ctx, blamed_receiver, &out);
    } else {
        dbuf_putc(&out, '\n');
    }
    if (!dbuf_error(&out)) {
        char told[1024];
        int32_t length = host_call(CALL_EXPLAIN, 0, (const char *)out.buf, out.size, told, sizeof told - 1);
        if (length > 0 && (size_t)length < sizeof told && (size_t)length < size) {
            memcpy(message, told, (size_t)length);
            message[length] = 0;
        }
    }
    dbuf_free(&out);
}
