return decodeURIComponent('%E0%A4%A' + '%'.repeat(1e6));
