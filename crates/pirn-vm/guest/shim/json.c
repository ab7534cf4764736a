/* Part of shim.c: arguments of calls as JSON, written straight to the bytes that the host takes. */

static bool is_symbol(JSContext *ctx, JSAtom atom)
{
    return JS_AtomGetKind(ctx, atom) != JS_ATOM_KIND_STRING;
}

/* The latest argument; kept, since most scripts make many small calls. */
static DynBuf argument_json;
enum { ARGUMENT_KEPT_BYTES = 64 << 10 };

static void write_unit(DynBuf *out, uint32_t unit)
{
    static const char shorts[] = { ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r', ['"'] = '"', ['\\'] = '\\' };
    if (unit < sizeof shorts && shorts[unit]) {
        dbuf_putc(out, '\\');
        dbuf_putc(out, (uint8_t)shorts[unit]);
    } else if (unit < 0x20 || (unit >= 0xD800 && unit <= 0xDFFF)) {
        dbuf_printf(out, "\\u%04x", unit);
    } else {
        uint8_t bytes[UTF8_CHAR_LEN_MAX];
        dbuf_put(out, bytes, utf8_encode(bytes, unit));
    }
}

/* A string as JSON.stringify writes it. */
static void write_string(DynBuf *out, JSString *string)
{
    dbuf_putc(out, '"');
    uint32_t length = string->len;
    if (string->is_wide_char) {
        const uint16_t *units = str16(string);
        for (uint32_t i = 0; i < length; i++) {
            uint32_t unit = units[i];
            if (is_hi_surrogate(unit) && i + 1 < length && is_lo_surrogate(units[i + 1]))
                unit = from_surrogate(unit, units[++i]);
            write_unit(out, unit);
        }
    } else {
        const uint8_t *units = str8(string);
        uint32_t written = 0;
        for (uint32_t i = 0; i < length; i++) {
            uint8_t unit = units[i];
            if (unit >= 0x20 && unit < 0x80 && unit != '"' && unit != '\\')
                continue;
            dbuf_put(out, units + written, i - written);
            write_unit(out, unit);
            written = i + 1;
        }
        dbuf_put(out, units + written, length - written);
    }
    dbuf_putc(out, '"');
}

static bool write_members(JSContext *ctx, DynBuf *out, JSObject *object);

/* Whether JSON keeps all of a value, told without running any of the script's code. Where `out` is given, the JSON is written there,
 * and values are refused too that are rare and would need more code than this. */
static bool write_plain(JSContext *ctx, DynBuf *out, JSValueConst value)
{
    char digits[16];
    switch (JS_VALUE_GET_NORM_TAG(value)) {
    case JS_TAG_INT:
        if (out)
            dbuf_put(out, digits, i32toa(digits, JS_VALUE_GET_INT(value)));
        return true;
    case JS_TAG_BOOL:
        if (out)
            dbuf_putstr(out, JS_VALUE_GET_BOOL(value) ? "true" : "false");
        return true;
    case JS_TAG_NULL:
        if (out)
            dbuf_putstr(out, "null");
        return true;
    case JS_TAG_STRING:
        if (out)
            write_string(out, JS_VALUE_GET_STRING(value));
        return true;
    case JS_TAG_STRING_ROPE:
        return !out;
    case JS_TAG_FLOAT64: {
        if (!isfinite(JS_VALUE_GET_FLOAT64(value)))
            return false;
        if (!out)
            return true;
        const char *text = JS_ToCString(ctx, value);
        if (!text) {
            JS_FreeValue(ctx, JS_GetException(ctx));
            return false;
        }
        dbuf_putstr(out, text);
        JS_FreeCString(ctx, text);
        return true;
    }
    case JS_TAG_OBJECT:
        break;
    default:
        return false;
    }
    JSObject *object = JS_VALUE_GET_OBJ(value);
    /* A mark on the way here is a circle. */
    if (object->is_on_path || js_check_stack_overflow(ctx->rt, 1024))
        return false;
    object->is_on_path = 1;
    bool plain = write_members(ctx, out, object);
    object->is_on_path = 0;
    return plain;
}

static bool write_members(JSContext *ctx, DynBuf *out, JSObject *object)
{
    JSObject *prototype = object->shape->proto;
    if (prototype && prototype->class_id == guard_class)
        prototype = prototype->shape->proto;
    if (object->class_id == JS_CLASS_ARRAY) {
        if (!object->fast_array || prototype != JS_VALUE_GET_OBJ(ctx->class_proto[JS_CLASS_ARRAY]) || object->shape->prop_count != 1)
            return false;
        JSValue length = object->prop[0].u.value;
        if (JS_VALUE_GET_TAG(length) != JS_TAG_INT || (uint32_t)JS_VALUE_GET_INT(length) != object->u.array.count)
            return false;
        for (uint32_t i = 0; i < object->u.array.count; i++) {
            if (out)
                dbuf_putc(out, i ? ',' : '[');
            if (!write_plain(ctx, out, object->u.array.u.values[i]))
                return false;
        }
        if (out)
            dbuf_putstr(out, object->u.array.count ? "]" : "[]");
        return true;
    }
    if (object->class_id != JS_CLASS_OBJECT || object->is_exotic)
        return false;
    if (prototype && prototype != JS_VALUE_GET_OBJ(ctx->class_proto[JS_CLASS_OBJECT]))
        return false;
    JSShapeProperty *shape = get_shape_prop(object->shape);
    bool first = true;
    for (int i = 0; i < object->shape->prop_count; i++, shape++) {
        uint32_t index;
        if (shape->atom == JS_ATOM_NULL)
            continue;
        if ((shape->flags & JS_PROP_TMASK) != JS_PROP_NORMAL || !(shape->flags & JS_PROP_ENUMERABLE))
            return false;
        JSValue member = object->prop[i].u.value;
        if (shape->atom == JS_ATOM_toJSON || is_symbol(ctx, shape->atom))
            return false;
        /* Numbers come first, in their own order. */
        if (out && JS_AtomIsArrayIndex(ctx, &index, shape->atom))
            return false;
        if (JS_IsUndefined(member))
            continue;
        if (out) {
            dbuf_putc(out, first ? '{' : ',');
            write_string(out, ctx->rt->atom_array[shape->atom]);
            dbuf_putc(out, ':');
            first = false;
        }
        if (!write_plain(ctx, out, member))
            return false;
    }
    if (out)
        dbuf_putstr(out, first ? "{}" : "}");
    return true;
}

/* The JSON of a value, valid until the next one; NULL for one that takes more to write. */
static const DynBuf *plain_json(JSContext *ctx, JSValueConst value)
{
    if (argument_json.allocated_size > ARGUMENT_KEPT_BYTES)
        dbuf_free(&argument_json);
    if (!argument_json.buf)
        js_dbuf_init(ctx, &argument_json);
    argument_json.size = 0;
    if (write_plain(ctx, &argument_json, value) && !dbuf_error(&argument_json))
        return &argument_json;
    if (dbuf_error(&argument_json))
        dbuf_free(&argument_json);
    return NULL;
}
