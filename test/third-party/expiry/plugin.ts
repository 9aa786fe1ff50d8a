import { type Act, definePlugin, type Kernel, type rules } from 'sluice/plugin'
import { Expiry } from './entities.ts'
import { Expiry0001 } from './migrations/0001-expiry.ts'
import { endsAt, inPast, missing } from './rule-field.ts'

interface Deps extends Kernel {
  readonly act: Act
  readonly rules: rules.Rules
}

/** Removes expired rules, which agents have already closed. */
async function removeEnded({ store, clock, log, rules, act }: Deps): Promise<void> {
  const ended = await store.read(async em => {
    const ids = (await em.find(Expiry, { at: { $lte: clock.now() } })).map(({ rule }) => rule)
    return rules.matching({ id: { $in: ids }, state: { $ne: 'draining' } }, em)
  })
  for (const { id } of ended)
    await act('_expiry', 'rule.expire', call => rules.remove(id, 5, call)).catch(error =>
      log.warn('expiry.not_removed', String(error), { rule: id })
    )
}

export default definePlugin<Deps>({
  name: 'expiry',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { rules: '^1.0.0', http: '^1.0.0' },
  codes: [inPast, missing],
  store: { entities: [Expiry], migrations: [{ name: '0001-expiry', class: Expiry0001 }] },
  fills: [endsAt],
  async start({ deps, defer }) {
    const sweep = (): Promise<void> => removeEnded(deps)
    defer(deps.clock.every(1000, sweep))
  }
})
