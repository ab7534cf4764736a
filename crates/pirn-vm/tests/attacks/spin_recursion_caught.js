const again = () => { try { again(); } catch { for (;;) again(); } };
again();
