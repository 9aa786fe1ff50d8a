// Puts the fields of a plugin into rules of an agent.
import type { LoadedField, LoadedTargetField } from '../../plugins/rules/exports.ts'
import { checkClient } from './agent-run.ts'
import { sampleOf } from './samples.ts'
import { type Answer, call, failureIn, type Surroundings, type Trial } from './trial.ts'

/** The fields that a plugin adds to rules, and to their targets. */
export interface PluginFields {
  readonly ofRules: readonly LoadedField[]
  readonly ofTargets: readonly LoadedTargetField[]
}

export const noFields: PluginFields = { ofRules: [], ofTargets: [] }

/** Creates, changes, lists and removes a rule without fields, then one for each field with the first of its examples. */
export async function tryFields({ ofRules, ofTargets }: PluginFields, around: Surroundings): Promise<Trial> {
  const problems: string[] = []
  const notes: string[] = []
  const plain = await tryRule({ what: 'a rule', port: firstPort, around })
  if (plain) (plain.isFault ? problems : notes).push(plain.text)
  const fields = [
    ...ofRules.map(({ key, body, change }) => ({ key, body, isHot: change === 'hot', isOfTarget: false })),
    ...ofTargets.map(({ key, body }) => ({ key, body, isHot: false, isOfTarget: true }))
  ]
  for (const [i, { key, body, ...kind }] of fields.entries()) {
    const sample = sampleOf(body, `field ${key}`)
    if ('lacking' in sample) notes.push(`${sample.lacking} was not tried: its schema has no examples`)
    else {
      const field = { key, value: sample.value, ...kind }
      const refused = await tryRule({
        what: `field ${key}: a rule with its example`,
        field,
        port: firstPort + 1 + i,
        around
      })
      if (refused) (refused.isFault ? problems : notes).push(refused.text)
    }
  }
  return { problems, notes }
}

const firstPort = 20_000 // no agent listens

interface TriedRule {
  readonly what: string
  readonly field?: {
    readonly key: string
    readonly value: unknown
    readonly isHot: boolean
    readonly isOfTarget: boolean
  }
  readonly port: number
  readonly around: Surroundings
}

async function tryRule({ what, field, port, around }: TriedRule) {
  const property = field && { [field.key]: field.value }
  const targets = [
    { host: '127.0.0.1', port: 9, ...(field?.isOfTarget && property) },
    { host: '127.0.0.1', port: 10 }
  ]
  const added = field?.isOfTarget ? {} : property
  const created = await call(around, {
    method: 'POST',
    url: '/v1/rules',
    body: { client: checkClient, listen_port: port, targets, ...added }
  })
  if (created.status !== 201) return failed(`${what} is refused`, created, around)
  const url = `/v1/rules/${(JSON.parse(created.text) as { readonly rule_id: string }).rule_id}`
  const steps = [
    ...(field?.isHot ? [{ method: 'PUT', url, body: added } as const] : []),
    { method: 'GET', url: '/v1/rules' },
    { method: 'DELETE', url }
  ] as const
  for (const step of steps) {
    const answer = await call(around, step)
    if (answer.status >= 400) return failed(`${what}: its ${step.method} is refused`, answer, around)
  }
  return null
}

/** The engine accepts every rule, so a rule that is not active failed to load, encode or plan. */
function failed(what: string, { status, text }: Answer, { log }: Surroundings) {
  const isFault = status === 500 || text.includes('"activation_failed"')
  return { isFault, text: `${what}: ${status === 500 ? failureIn(log) : `${status} ${text}`}` }
}
