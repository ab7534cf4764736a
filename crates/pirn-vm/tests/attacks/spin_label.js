outer: for (;;) { inner: for (;;) { continue outer; } }
