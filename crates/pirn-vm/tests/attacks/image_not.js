image('data:image/png;base64,' + '='.repeat(1e7));
