// Locale methods and Intl: English and UTC are right; whatever else is asked for is an error that says so.
(function (native, shared) {
  "use strict";

  const method = (target, name, value) =>
    Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
  const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
  const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
  const CURRENCIES = { USD: "$", EUR: "€", GBP: "£", JPY: "¥", INR: "₹", CNY: "CN¥", KRW: "₩" };
  const NO_CENTS = ["JPY", "KRW"];

  function checkLocale(locales, what) {
    const list = locales === undefined ? [] : Array.isArray(locales) ? locales : [locales];
    for (const locale of list) {
      const name = String(locale);
      if (!/^(en(-US)?|und|C)$/.test(name)) {
        throw new RangeError(`${what}: the locale ${JSON.stringify(name.slice(0, 40))} is not available here, only "en-US"; format it by hand`);
      }
    }
  }

  function checkOptions(options, known, what) {
    if (options === undefined) return {};
    for (const key of Object.keys(options)) {
      if (options[key] === undefined) continue;
      const values = known[key];
      if (values === undefined) {
        throw new RangeError(`${what}: the option ${key} is not available here; there are ${Object.keys(known).join(", ")}`);
      }
      if (Array.isArray(values) && !values.includes(options[key])) {
        throw new RangeError(`${what}: ${key} can be ${values.map((value) => JSON.stringify(value)).join(", ")} here, not ${JSON.stringify(options[key])}`);
      }
    }
    return options;
  }

  const NUMBER_OPTIONS = {
    style: ["decimal", "percent", "currency"], currency: Object.keys(CURRENCIES), currencyDisplay: ["symbol"], useGrouping: [true, false],
    minimumFractionDigits: "digits", maximumFractionDigits: "digits", minimumIntegerDigits: "digits",
  };

  function formatNumber(value, locales, options, what) {
    checkLocale(locales, what);
    const { style = "decimal", currency, useGrouping = true, minimumIntegerDigits = 1, ...digits } = checkOptions(options, NUMBER_OPTIONS, what);
    if (style === "currency" && currency === undefined) throw new TypeError(`${what}: style "currency" needs a currency`);
    const standard = style === "currency" ? (NO_CENTS.includes(currency) ? [0, 0] : [2, 2]) : style === "percent" ? [0, 0] : [0, 3];
    let { minimumFractionDigits: least, maximumFractionDigits: most } = digits;
    for (const count of [least, most]) {
      if (count !== undefined && !(Number.isInteger(count) && count >= 0 && count <= 100)) throw new RangeError(`${what}: fraction digits are 0 to 100`);
    }
    if (least !== undefined && most !== undefined && least > most) throw new RangeError(`${what}: minimumFractionDigits is over maximumFractionDigits`);
    least ??= most === undefined ? standard[0] : Math.min(standard[0], most);
    most ??= Math.max(standard[1], least);
    const isBig = typeof value === "bigint";
    const number = style === "percent" ? (isBig ? value * 100n : Number(value) * 100) : value;
    let body;
    if (isBig) body = String(number < 0n ? -number : number) + (least > 0 ? `.${"0".repeat(least)}` : "");
    else if (!Number.isFinite(number)) body = Number.isNaN(number) ? "NaN" : "∞";
    else if (Math.abs(number) >= 1e21) body = String(BigInt(Math.abs(number)));
    else {
      body = rounded(Math.abs(number), most);
      while (body.includes(".") && body.endsWith("0") && body.length - body.indexOf(".") - 1 > least) body = body.slice(0, -1);
      if (body.endsWith(".")) body = body.slice(0, -1);
    }
    let [whole, fraction] = body.split(".");
    if (/^\d+$/.test(whole)) {
      whole = whole.padStart(minimumIntegerDigits, "0");
      if (useGrouping) whole = whole.replace(/\B(?=(\d{3})+$)/g, ",");
    }
    const isNegative = isBig ? number < 0n : number < 0 || Object.is(number, -0);
    return (isNegative ? "-" : "") + (style === "currency" ? CURRENCIES[currency] : "") + whole +
      (fraction === undefined ? "" : `.${fraction}`) + (style === "percent" ? "%" : "");
  }

  /** Halves go away from zero, judged by the shortest digits of the number, as in every other engine. */
  function rounded(number, digits) {
    const [mantissa, exponent = "0"] = String(number).split("e");
    const [whole, fraction = ""] = mantissa.split(".");
    const shift = fraction.length - Number(exponent);
    const all = BigInt(whole + fraction);
    if (shift <= digits) return (all * 10n ** BigInt(digits - shift)).toString().padStart(digits + 1, "0").replace(digits === 0 ? /$/ : new RegExp(`(\\d{${digits}})$`), digits === 0 ? "" : ".$1");
    const unit = 10n ** BigInt(shift - digits);
    const text = ((all + unit / 2n) / unit).toString().padStart(digits + 1, "0");
    return digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`;
  }

  const ZONES = ["UTC", "Etc/UTC", "GMT", "Etc/GMT"];
  const DATE_OPTIONS = {
    timeZone: ZONES, weekday: ["long", "short"], year: ["numeric", "2-digit"], month: ["numeric", "2-digit", "long", "short"],
    day: ["numeric", "2-digit"], hour: ["numeric", "2-digit"], minute: ["numeric", "2-digit"], second: ["numeric", "2-digit"],
    hour12: [true, false], hourCycle: ["h12", "h23"], dateStyle: ["short", "medium", "long", "full"], timeStyle: ["short", "medium"],
    timeZoneName: ["short"],
  };
  const STYLES = {
    date: { short: { year: "2-digit", month: "numeric", day: "numeric" }, medium: { year: "numeric", month: "short", day: "numeric" },
      long: { year: "numeric", month: "long", day: "numeric" }, full: { weekday: "long", year: "numeric", month: "long", day: "numeric" } },
    time: { short: { hour: "numeric", minute: "2-digit" }, medium: { hour: "numeric", minute: "2-digit", second: "2-digit" } },
  };
  const DATE = { year: "numeric", month: "numeric", day: "numeric" };
  const TIME = { hour: "numeric", minute: "2-digit", second: "2-digit" };

  function formatDate(date, locales, given, defaults, what) {
    checkLocale(locales, what);
    let options = checkOptions(given, DATE_OPTIONS, what);
    if (Number.isNaN(date.getTime())) return "Invalid Date";
    const { dateStyle, timeStyle } = options;
    if (dateStyle !== undefined || timeStyle !== undefined) {
      options = { ...options, ...STYLES.date[dateStyle], ...STYLES.time[timeStyle] };
    } else if (!["weekday", "year", "month", "day", "hour", "minute", "second"].some((key) => options[key] !== undefined)) {
      options = { ...options, ...defaults };
    }
    const two = (number) => String(number).padStart(2, "0");
    const year = options.year && (options.year === "2-digit" ? two(date.getUTCFullYear() % 100) : String(date.getUTCFullYear()));
    const day = options.day && (options.day === "2-digit" ? two(date.getUTCDate()) : String(date.getUTCDate()));
    const number = date.getUTCMonth() + 1;
    const month = options.month && (options.month === "long" ? MONTHS[number - 1] : options.month === "short" ? MONTHS[number - 1].slice(0, 3)
      : options.month === "2-digit" ? two(number) : String(number));
    const weekday = options.weekday && (options.weekday === "long" ? DAYS[date.getUTCDay()] : DAYS[date.getUTCDay()].slice(0, 3));
    const isNamed = options.month === "long" || options.month === "short";
    const dated = isNamed ? [[month, day].filter(Boolean).join(" "), year].filter(Boolean).join(day ? ", " : " ") : [month, day, year].filter(Boolean).join("/");
    const datePart = [weekday, dated].filter(Boolean).join(", ");
    let timePart = "";
    if (options.hour || options.minute || options.second) {
      const is12 = options.hour12 ?? (options.hourCycle === undefined || options.hourCycle === "h12");
      const hours = date.getUTCHours();
      const shown = is12 ? hours % 12 || 12 : hours;
      const hour = options.hour && (options.hour === "2-digit" || !is12 ? two(shown) : String(shown));
      const minute = options.minute && (options.hour || options.second || options.minute === "2-digit" ? two(date.getUTCMinutes()) : String(date.getUTCMinutes()));
      const second = options.second && (options.minute || options.second === "2-digit" ? two(date.getUTCSeconds()) : String(date.getUTCSeconds()));
      timePart = [hour, minute, second].filter(Boolean).join(":") + (hour && is12 ? ` ${hours < 12 ? "AM" : "PM"}` : "") +
        (options.timeZoneName ? " UTC" : "");
    }
    const joint = (dateStyle === "long" || dateStyle === "full") && timePart ? " at " : ", ";
    return [datePart, timePart].filter(Boolean).join(joint);
  }

  const COLLATION_OPTIONS = { numeric: [true, false], sensitivity: ["base", "accent", "case", "variant"], usage: ["sort"], caseFirst: ["false"], ignorePunctuation: [false] };
  const PUNCTUATION = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

  /** Weight of a character: blanks, punctuation, digits, letters. Letters of other scripts follow in their code's order. */
  function weight(character) {
    const code = character.codePointAt(0);
    if (code <= 32) return code;
    const at = PUNCTUATION.indexOf(character);
    if (at >= 0) return 64 + at;
    return 1024 + code;
  }

  function compare(first, second, { numeric = false, sensitivity = "variant" } = {}) {
    if (first === second) return 0;
    const [a, b] = [first, second].map((text) => text.normalize("NFD"));
    const letters = (text) => text.replace(/\p{M}/gu, "").toLowerCase();
    const primary = compareBy(letters(a), letters(b), numeric);
    if (primary !== 0) return primary;
    if (sensitivity === "accent" || sensitivity === "variant") {
      const accents = compareBy(a.toLowerCase(), b.toLowerCase(), false);
      if (accents !== 0) return accents;
    }
    if (sensitivity === "case" || sensitivity === "variant") {
      const [x, y] = [a, b].map((text) => text.replace(/\p{M}/gu, ""));
      for (let at = 0; at < Math.min(x.length, y.length); at += 1) {
        // Small letters come first.
        if (x[at] !== y[at]) return x[at] === x[at].toLowerCase() ? -1 : 1;
      }
    }
    return 0;
  }

  function compareBy(a, b, numeric) {
    const split = (text) => (numeric ? text.match(/\d+|[^\d]/gu) ?? [] : [...text]);
    const [x, y] = [split(a), split(b)];
    for (let at = 0; at < Math.min(x.length, y.length); at += 1) {
      if (x[at] === y[at]) continue;
      if (numeric && /^\d/.test(x[at]) && /^\d/.test(y[at])) {
        const [left, right] = [BigInt(x[at]), BigInt(y[at])];
        if (left !== right) return left < right ? -1 : 1;
        continue;
      }
      const difference = weight(x[at]) - weight(y[at]);
      if (difference !== 0) return difference < 0 ? -1 : 1;
    }
    return Math.sign(x.length - y.length);
  }

  method(Number.prototype, "toLocaleString", function toLocaleString(locales, options) {
    return formatNumber(Number(this), locales, options, "toLocaleString");
  });
  method(BigInt.prototype, "toLocaleString", function toLocaleString(locales, options) {
    return formatNumber(BigInt(this), locales, options, "toLocaleString");
  });
  for (const [name, defaults] of [["toLocaleString", { ...DATE, ...TIME }], ["toLocaleDateString", DATE], ["toLocaleTimeString", TIME]]) {
    method(Date.prototype, name, { [name](locales, options) { return formatDate(this, locales, options, defaults, name); } }[name]);
  }
  method(String.prototype, "localeCompare", function localeCompare(other, locales, options) {
    checkLocale(locales, "localeCompare");
    return compare(String(this), String(other), checkOptions(options, COLLATION_OPTIONS, "localeCompare"));
  });
  for (const name of ["toLocaleUpperCase", "toLocaleLowerCase"]) {
    const plain = String.prototype[name === "toLocaleUpperCase" ? "toUpperCase" : "toLowerCase"];
    method(String.prototype, name, { [name](locales) { checkLocale(locales, name); return plain.call(this); } }[name]);
  }

  const Intl = native.guard(null);
  const formatter = (name, known, format) => class {
    #options;
    constructor(locales, options) {
      checkLocale(locales, `Intl.${name}`);
      this.#options = { ...checkOptions(options, known, `Intl.${name}`) };
      const bound = (...values) => format(this.#options, ...values);
      Object.defineProperty(this, name === "Collator" ? "compare" : "format", { value: bound });
    }
    resolvedOptions() { return { locale: "en-US", ...(name === "DateTimeFormat" ? { timeZone: "UTC", calendar: "gregory" } : {}), ...this.#options }; }
    static supportedLocalesOf(locales) { return [locales].flat().filter((locale) => /^en(-US)?$/.test(locale)); }
  };
  const constructors = {
    NumberFormat: formatter("NumberFormat", NUMBER_OPTIONS, (options, value) =>
      formatNumber(typeof value === "bigint" ? value : Number(value), undefined, options, "Intl.NumberFormat")),
    DateTimeFormat: formatter("DateTimeFormat", DATE_OPTIONS, (options, date = Date.now()) =>
      formatDate(new Date(date), undefined, options, DATE, "Intl.DateTimeFormat")),
    Collator: formatter("Collator", COLLATION_OPTIONS, (options, first, second) => compare(String(first), String(second), options)),
  };
  for (const [name, value] of Object.entries(constructors)) {
    Object.defineProperty(value, "name", { value: name });
    Object.defineProperty(Intl, name, { value, enumerable: true });
  }
  shared.guarded(Intl, "Intl", () => Object.keys(constructors), "Scripts have English and UTC only.");
  method(globalThis, "Intl", Intl);
})
