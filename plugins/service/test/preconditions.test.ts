// Configurations that a unit could not run with are refused before anything is written.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { requireStartable } from '../preconditions.ts'
import type { Role } from '../unit.ts'

function judged(t: Test, role: Role, line: string): () => void {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-unit-')) // not below a home directory
  t.teardown(() => rmSync(dir, { recursive: true }))
  const configFile = join(dir, 'config.toml')
  writeFileSync(configFile, `${line}\n`)
  return () => requireStartable({ role, user: 'root', configFile, notifies: 'itself' }, process.execPath)
}

t.test(
  'a state directory that the sandbox of the unit cannot write to is refused, with the remedy',
  async t => {
    t.throws(judged(t, 'server', 'data_dir = "/root/.local/state/sluice"'), {
      message:
        /cannot write to data_dir \/root\S+: move the directory to \/var\/lib\/sluice, and set data_dir/
    })
    t.throws(judged(t, 'server', 'data_dir = "/var/lib/sluice-old"'), { message: /data_dir/ })
    t.throws(judged(t, 'agent', 'state_dir = "/srv/agent"'), { message: /\/var\/lib\/sluice-agent/ })
  }
)

t.test('the state directory of the unit, and none, are accepted', async t => {
  t.doesNotThrow(judged(t, 'server', 'data_dir = "/var/lib/sluice"'))
  t.doesNotThrow(judged(t, 'server', 'data_dir = "/var/lib/sluice/data/"'))
  t.doesNotThrow(judged(t, 'server', ''))
  t.doesNotThrow(judged(t, 'agent', 'state_dir = "/var/lib/sluice-agent"'))
})
