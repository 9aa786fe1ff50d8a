// Input of suite.test.ts: the test leaves process state behind.
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'

t.test('a test that leaves something of each kind behind', async t => {
  process.env['SUITE_LEFT'] = '1'
  process.chdir(t.testdir())
  writeFileSync(join(tmpdir(), 'left'), '')
  createServer().listen(0)
  spawn('sleep', ['1000'])
  t.pass()
})
