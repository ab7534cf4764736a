const again = () => 'x'.replace(/x/, again);
return again();
