const deeper = async () => { await deeper(); };
await deeper();
