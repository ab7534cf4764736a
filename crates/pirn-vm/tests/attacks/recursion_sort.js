const again = () => [2, 1].sort(again);
return again();
