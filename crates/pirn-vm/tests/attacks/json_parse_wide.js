return JSON.parse('[' + '0,'.repeat(2e7) + '0]').length;
