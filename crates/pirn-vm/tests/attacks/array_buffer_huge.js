return new ArrayBuffer(2 ** 31).byteLength;
