// tap records every file that a process loads, for coverage and `tap watch`. Nobody uses that here, and it takes a fifth of
// a test's start. Child processes inherit the exclusion; this module is for the test's own process only.
process.env._TAPJS_PROCESSINFO_EXCLUDE_ = '/./'
process.env.NODE_OPTIONS = process.env.NODE_OPTIONS.replace(/--import=\S+\/tap-preload\.mjs/, '').trim()
