// Checks each kind of `sluice plugin new --kind`, and runs its tests.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { conform } from '../../../kit/public.ts'
import { kinds, scaffold } from '../scaffold.ts'

const offer = import.meta.resolve('../../../kernel/platform/plugins/import-plugin.ts')

for (const given of [...kinds.map(kind => [kind]), kinds])
  t.test(`a new plugin of ${given.join(', ')} passes sluice plugin check and its own tests`, async t => {
    const dir = join(t.testdir(), 'acme-kind')
    const files = scaffold('acme-kind', dir, given)
    t.same(await conform(dir), { name: 'acme-kind', version: '1.0.0', problems: [], notes: [] })
    const preload = `data:text/javascript,import { offerPublicModules } from '${offer}'; offerPublicModules()`

    for (const file of files.filter(file => /\.test\.ts$/.test(file))) {
      const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', preload, join(dir, file)], {
        encoding: 'utf8'
      })
      t.equal(status, 0, `${file}: ${stdout}${stderr}`)
      t.match(stdout, /^# pass [1-9]|ℹ pass [1-9]/m)
    }
    t.equal(files.includes('agent.ts'), /rule-field|agent/.test(given.join()))
    t.equal(files.includes('plugin.ts'), given.join() !== 'agent')
  })
