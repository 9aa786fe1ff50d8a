// Puts the fields of a plugin into rules, for an agent that accepts them.
import { type AgentPlugin, capabilitiesOf, messagesOf } from '../../agent/plugin.ts'
import { systemClock } from '../../kernel/base/clock.ts'
import { Releases } from '../../kernel/base/releases.ts'
import type { LoadedField } from '../../plugins/rules/exports.ts'
import { connectAcceptingAgent } from '../accepting-agent.ts'
import { sampleOf } from './samples.ts'
import { type Answer, call, failureIn, type Surroundings, type Trial } from './trial.ts'

/** Creates, changes, lists and removes a rule for each field, with the first of its examples. */
export async function tryFields(
  fields: readonly LoadedField[],
  agent: AgentPlugin | null,
  around: Surroundings
): Promise<Trial> {
  const [problems, notes]: [string[], string[]] = [[], []]
  if (fields.length === 0) return { problems, notes }
  const releases = new Releases()
  const capabilities = agent ? capabilitiesOf(agent) : {}
  const messages = agent ? messagesOf(agent) : []
  const app = { server: around.server, clock: systemClock }
  await connectAcceptingAgent({ teardown: releases.defer }, app, 'check', { capabilities, messages })
  try {
    for (const [i, field] of fields.entries()) {
      const sample = sampleOf(field.body, `field ${field.key}`)
      if ('lacking' in sample) notes.push(`${sample.lacking} was not tried: its schema has no examples`)
      else {
        const refused = await tryField(field, sample.value, firstPort + i, around)
        if (refused) (refused.isFault ? problems : notes).push(`field ${field.key}: ${refused.text}`)
      }
    }
  } finally {
    await releases.run()
  }
  return { problems, notes }
}

const firstPort = 20_000 // no agent listens

async function tryField({ key, change }: LoadedField, value: unknown, port: number, around: Surroundings) {
  const targets = [9, 10].map(port => ({ host: '127.0.0.1', port }))
  const created = await call(around, {
    method: 'POST',
    url: '/v1/rules',
    body: { client: 'check', listen_port: port, targets, [key]: value }
  })
  if (created.status !== 201) return failed('a rule with its example is refused', created, around)
  const url = `/v1/rules/${(JSON.parse(created.text) as { readonly rule_id: string }).rule_id}`
  const steps = [
    ...(change === 'hot' ? [{ method: 'PUT', url, body: { [key]: value } } as const] : []),
    { method: 'GET', url: '/v1/rules' },
    { method: 'DELETE', url }
  ] as const
  for (const step of steps) {
    const answer = await call(around, step)
    if (answer.status >= 400)
      return failed(`${step.method} of a rule with its example is refused`, answer, around)
  }
  return null
}

/** The agent accepts every rule, so a rule that is not active failed to load or encode. */
function failed(what: string, { status, text }: Answer, { log }: Surroundings) {
  const isFault = status === 500 || text.includes('"activation_failed"')
  return { isFault, text: `${what}: ${status === 500 ? failureIn(log) : `${status} ${text}`}` }
}
