// What the server knows about a caller: the client, the rule, and what plugins decide.
import type { EntityManager } from '@mikro-orm/sql'
import type { Client } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { type ExplainedCaller, type ExplainedRule, explainSlot, type Rules } from '../rules/exports.ts'
import type { Question, Step } from './schema.ts'

export interface Services extends Kernel {
  readonly rules: Rules
}

/** The steps so far, and the rule if the caller comes to it. */
export interface Server {
  readonly steps: readonly Step[]
  readonly asked: ExplainedRule | null // null: the last step is a stop
}

type Listening = Awaited<ReturnType<Rules['findOnPort']>>[number]

/** What cannot be told of a caller of these, as against a refusal. */
export const unknownReasons: readonly string[] = [
  'pending',
  'client_not_connected',
  'ack_timeout',
  'explain_unsupported_by_client',
  'too_many_probes'
]

/** Returns what the server alone decides. `found`: the rules on the port that the reader sees. */
export async function serverSteps(
  { filled, control }: Pick<Services, 'filled' | 'control'>,
  { client, found, question }: { client: Client; found: readonly Listening[]; question: Question },
  em: EntityManager
): Promise<Server> {
  const caller: ExplainedCaller = {
    port: question.port,
    source: question.source ?? null,
    sni: question.sni?.toLowerCase().replace(/\.$/, '') ?? null
  }
  const steps: Step[] = [clientStep(client, control.peers.find(client.id) !== undefined)]
  const stopped = (): boolean => steps.at(-1)?.verdict === 'stop'
  if (stopped()) return { steps, asked: null }

  const chosen = choose(found, caller, { filled, question })
  if ('verdict' in chosen) return { steps: [...steps, chosen], asked: null }
  const { rule, id, placedBySuperadmin } = chosen
  const asked = { ...caller, rule, id, placedBySuperadmin, clientId: client.id }
  steps.push(stateStep(asked))
  if (stopped()) return { steps, asked: null }

  for (const { value } of filled(explainSlot)) {
    for (const step of (await value.explain?.(asked, em)) ?? []) {
      steps.push(step)
      if (stopped()) return { steps, asked: null }
    }
  }
  const closed = closedStep(asked)
  return closed ? { steps: [...steps, closed], asked: null } : { steps, asked }
}

function clientStep({ id, name, revokedAt }: Client, isConnected: boolean): Step {
  const step = { kind: 'client', id }
  if (revokedAt != null)
    return {
      ...step,
      verdict: 'stop',
      reason: 'token_revoked',
      text: `client ${name} is revoked: its agent forwards nothing; re-enroll it`
    }
  const [reason, text] = isConnected
    ? ['connected', `client ${name} is connected`]
    : ['client_not_connected', `client ${name} is not connected; its agent may still forward, if it runs`]
  return { ...step, verdict: isConnected ? 'pass' : 'info', reason, text }
}

/** Returns the rule that the caller meets, or the step that says why there is none. */
function choose(
  found: readonly Listening[],
  caller: ExplainedCaller,
  { filled, question }: Pick<Services, 'filled'> & { readonly question: Question }
): Listening | Step {
  const { client, port, protocol } = question
  const newest = found.at(-1)
  if (!newest) {
    const text = `no rule listens on ${protocol} port ${port} of ${client}`
    return { kind: 'port', id: `${protocol}/${port}`, verdict: 'stop', reason: 'no_rule', text }
  }
  for (const { value } of filled(explainSlot)) {
    const choice = value.choose?.(
      found.map(({ rule }) => rule),
      caller
    )
    if (!choice) continue
    if ('stop' in choice) return choice.stop
    return found.find(({ rule }) => rule === choice.rule) ?? newest
  }
  return newest // an earlier one has expired, and gave its port free
}

/** The state of the rule on this client. */
function shownState({ rule, clientId }: Pick<ExplainedRule, 'rule' | 'clientId'>) {
  const edges = rule['edges'] as
    | readonly { client_id: string; state: string; state_reason: string | null }[]
    | null
  return edges?.find(edge => edge.client_id === clientId) ?? rule
}

const endings: Readonly<Record<string, (reason: string) => readonly [reason: string, text: string]>> = {
  failed: reason => [reason, `the rule has failed: ${reason}`],
  pending: () => ['pending', 'the client has yet to take the rule, or a change of it'],
  paused: () => ['paused', 'the rule is paused: resume it']
}

function stateStep(asked: ExplainedRule): Step {
  const { state, state_reason } = shownState(asked)
  const { rule_id: id, owner } = asked.rule
  const ending = endings[state]?.(state_reason ?? 'failed')
  if (ending) return { kind: 'rule', id, verdict: 'stop', reason: ending[0], text: ending[1] }
  return { kind: 'rule', id, verdict: 'pass', reason: state, text: `the rule is ${state}, of ${owner}` }
}

/** A state that a plugin gives, or a closing that the agent has reported, of which no plugin has told more. */
function closedStep(asked: ExplainedRule): Step | null {
  const { state, state_reason } = shownState(asked)
  if (state === 'active' && state_reason === null) return null
  const [reason = state] = (state_reason ?? state).split(' ')
  const text = `the rule is closed: ${state_reason ?? state}`
  return { kind: 'rule', id: asked.rule.rule_id, verdict: 'stop', reason, text }
}
