import t from 'tap'
import { logSelection, selectEngine } from '../../agent/engine/select-engine.ts'
import { fakeEngine } from '../../kit/fake-engine.ts'
import { recordLog } from './recorded-log.ts'

const found = () => ({ ok: true, from: '/lib/sluice.node', openEngine: fakeEngine().start }) as const
const missing = () => ({ ok: false, reason: 'there is no native engine for darwin' }) as const

t.test('the native engine runs if it loads', async t => {
  t.match(selectEngine('auto', found), { engine: 'native', reason: '/lib/sluice.node' })
})

t.test('otherwise the portable engine runs, and the reason is logged', async t => {
  const choice = selectEngine('auto', missing)
  t.match(choice, { engine: 'portable', reason: 'there is no native engine for darwin' })
  const log = recordLog()
  logSelection(choice, log)
  t.match(log.lines, [{ event: 'engine.selected', fields: { engine: 'portable', reason: /darwin/ } }])
})

t.test('a configured engine runs, or the start fails with the reason', async t => {
  t.match(selectEngine('portable', found), { engine: 'portable' })
  t.throws(() => selectEngine('native', missing), {
    message: /engine is native, but there is no native engine/
  })
})
