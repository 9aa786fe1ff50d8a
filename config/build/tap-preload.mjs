import { isMainThread } from 'node:worker_threads'
import '../checkout/fast-imports.mjs'

// tap records every file that a process loads, for coverage and `tap watch`. Nobody uses that here, and it takes a fifth of
// a test's start. Child processes inherit the exclusion; this module is for the test's own process only.
process.env._TAPJS_PROCESSINFO_EXCLUDE_ = '/./'
process.env.NODE_OPTIONS = process.env.NODE_OPTIONS.replace(/--import=\S+\/tap-preload\.mjs/, '').trim()

// What is used first ends last: tap would remove the directory of `t.testdir` before a server that runs in it is stopped, and a
// file that it wrote then kept directory, server and test. Threads load this, too, and are no tests.
if (isMainThread) {
  const { default: t } = await import('tap')
  t.teardown(() => {})
  t.beforeEach(t => t.teardown(() => {}))
}
