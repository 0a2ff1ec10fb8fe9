package plan

// Wait is wait, for its test.
var Wait = wait
