let kept = [], times = 0;
for (;;) { try { for (;;) kept.push('x'.repeat(5000) + kept.length); } catch { if (++times % 3 === 0) kept = []; } }
