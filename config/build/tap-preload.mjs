import { isMainThread } from 'node:worker_threads'
import '../checkout/fast-imports.mjs'

// tap records every file that a process loads, for coverage and `tap watch`. We use neither, and it takes a fifth of
// a test's start. Child processes inherit the exclusion; this module is for the test's own process only.
process.env._TAPJS_PROCESSINFO_EXCLUDE_ = '/./'
process.env.NODE_OPTIONS = process.env.NODE_OPTIONS.replace(/--import=\S+\/tap-preload\.mjs/, '').trim()

// Releases run in reverse order: tap would otherwise remove the directory of `t.testdir` before a server in it is stopped.
// A file written late would then keep directory, server and test alive. Threads load this module, too, but run no tests.
if (isMainThread) {
  const { default: t } = await import('tap')
  t.teardown(() => {})
  t.beforeEach(t => t.teardown(() => {}))
}
