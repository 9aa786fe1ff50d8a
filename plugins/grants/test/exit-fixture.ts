// Rules with paths to their targets. The rows are changed in the store: the plugin `links` computes paths from requests.
import { Rule } from '../../rules/entities.ts'
import type { RuleCore, Rules } from '../../rules/exports.ts'
import { admitSlot } from '../../rules/slots.ts'
import type { Deps, RulesFixture } from '../../rules/test/fixture.ts'
import type { GrantsFixture } from './fixture.ts'

type Path = readonly string[] | null // null: the client of the rule dials

const depsOf = ({ server }: Pick<RulesFixture, 'server'>) => server.depsOf('rules') as Deps

const withPaths = (targets: Rule['targets'], paths: readonly Path[]): Rule['targets'] =>
  paths.map((path, at) => {
    const target = targets[at] ?? targets[0] ?? { host: '10.0.0.1', port: 80, priority: 0 }
    return { ...target, ...(path && { path }) }
  })

/** Gives the stored targets of a rule these paths. With `pending`, the paths are of a change that has not been applied. */
export async function setPaths(
  app: Pick<RulesFixture, 'server'>,
  id: string,
  paths: readonly Path[],
  pending: 'applied' | 'pending' = 'applied'
): Promise<void> {
  await depsOf(app).store.change(async em => {
    const { placedBy, targets, preferIpv6, paused } = await em.findOneOrFail(Rule, { id })
    const rule = { placedBy, targets, preferIpv6, paused }
    const before = { rule, values: {}, whenPortInUse: 'undo' } as const
    const change = { targets: withPaths(targets, paths), ...(pending === 'pending' && { before }) }
    await em.nativeUpdate(Rule, { id }, change)
  })
}

/** Returns the code and the details of the refusal of a rule of ada; null: it is admitted. */
export async function refusalOf(app: GrantsFixture, rule: Partial<RuleCore>) {
  const { filled, store } = depsOf(app)
  const core: RuleCore = {
    id: '01K00000000000000000000000',
    parent: null,
    clientId: app.clientId,
    owner: 'ada',
    isExempt: false,
    protocol: 'tcp',
    listenFrom: 8080,
    listenTo: 8080,
    targets: [],
    ...rule
  }
  const [admission] = filled(admitSlot)
  try {
    await store.read(async em => admission?.value.admit(core, em, id => id))
    return null
  } catch (error) {
    const { errorCode, details } = error as { errorCode: { code: string }; details?: object }
    return { code: errorCode.code, ...(details && { details }) }
  }
}

/** Returns the target lists of the exits of a stored rule, by client id. */
export async function exitListsOf(app: Pick<RulesFixture, 'server'>, id: string) {
  const { store, rules } = depsOf(app) as { store: Deps['store']; rules: Rules }
  const lists = await store.read(async em => rules.exitTargets(await rules.matching({ id }, em), em))
  return Object.fromEntries(lists.get(id) ?? [])
}
