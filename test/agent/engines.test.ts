import t from 'tap'
import { chooseEngine, sayEngine } from '../../agent/engine-choice.ts'
import { fakeEngine } from '../../kit/fake-engine.ts'
import { listen } from './log.ts'

const found = () => ({ ok: true, from: '/lib/sluice.node', openEngine: fakeEngine().start }) as const
const missing = () => ({ ok: false, reason: 'there is no native engine for darwin' }) as const

t.test('the native engine runs where it loads', async t => {
  t.match(chooseEngine('auto', found), { engine: 'native', reason: '/lib/sluice.node' })
})

t.test('else the portable one, with the reason', async t => {
  const choice = chooseEngine('auto', missing)
  t.match(choice, { engine: 'portable', reason: 'there is no native engine for darwin' })
  const log = listen()
  sayEngine(choice, log)
  t.match(log.lines, [{ event: 'engine.selected', fields: { engine: 'portable', reason: /darwin/ } }])
})

t.test('whoever wants one engine gets that one, or is told why not', async t => {
  t.match(chooseEngine('portable', found), { engine: 'portable' })
  t.throws(() => chooseEngine('native', missing), {
    message: /engine is native, and there is no native engine/
  })
})
