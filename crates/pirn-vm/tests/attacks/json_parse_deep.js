return JSON.parse('['.repeat(1e6));
