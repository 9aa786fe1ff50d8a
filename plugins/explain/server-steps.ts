// The server's part of an explanation: the client, the rule, and decisions of plugins.
import type { EntityManager } from '@mikro-orm/sql'
import type { Client } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { type ExplainedCaller, type ExplainedRule, explainSlot, type Rules } from '../rules/exports.ts'
import type { Question, Step } from './schema.ts'

export interface Services extends Kernel {
  readonly rules: Rules
}

/** The steps so far, and the rule if the caller reaches it. */
export interface Server {
  readonly steps: readonly Step[]
  readonly asked: ExplainedRule | null // null: the last step is a stop
}

export type Listening = Awaited<ReturnType<Rules['findOnPort']>>[number]

/** Reasons that make the outcome unknown rather than refused. */
export const unknownReasons: readonly string[] = [
  'pending',
  'client_not_connected',
  'ack_timeout',
  'explain_unsupported_by_client',
  'too_many_probes',
  'path_timeout'
]

/** Returns the server's decisions. `found`: rules on the port that the reader may see. */
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
  const { rule, id, isExempt } = chosen
  const asked = { ...caller, rule, id, isExempt, clientId: client.id }
  steps.push(stateStep(asked))
  if (stopped()) return { steps, asked: null }

  for (const { value } of filled(explainSlot)) {
    for (const step of (await value.explain?.(asked, em)) ?? []) {
      steps.push(step)
      if (stopped()) return { steps, asked: null }
    }
  }
  const closed = closedStep(asked, steps)
  return closed ? { steps: [...steps, closed], asked: null } : { steps, asked }
}

function clientStep({ id, name, revokedAt }: Client, isConnected: boolean): Step {
  const step = { kind: 'client', id }
  if (revokedAt != null)
    return {
      ...step,
      verdict: 'stop',
      reason: 'token_revoked',
      text: `client ${name} is revoked: its agent forwards nothing. Re-enroll it`
    }
  const [reason, text] = isConnected
    ? ['connected', `client ${name} is connected`]
    : ['client_not_connected', `client ${name} is offline; its agent may still be forwarding`]
  return { ...step, verdict: isConnected ? 'pass' : 'info', reason, text }
}

/** Returns the rule for the caller, or the step that explains why there is none. */
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
  return newest // older ones have expired and released the port
}

/** Returns the state of the rule on this client. */
function shownState({ rule, clientId }: Pick<ExplainedRule, 'rule' | 'clientId'>) {
  const edges = rule['edges'] as
    | readonly { client_id: string; state: string; state_reason: string | null }[]
    | null
  return edges?.find(edge => edge.client_id === clientId) ?? rule
}

const endings: Readonly<Record<string, (reason: string) => readonly [reason: string, text: string]>> = {
  failed: reason => [reason, `the rule has failed: ${reason}`],
  pending: () => ['pending', 'the client has not applied the rule or its latest change yet'],
  paused: () => ['paused', 'the rule is paused. Resume it']
}

/** A plugin that has paused a rule explains why. */
function stateStep(asked: ExplainedRule): Step {
  const { state, state_reason } = shownState(asked)
  const { rule_id: id, owner, paused } = asked.rule
  const isPausedByPlugin = state === 'paused' && !paused
  const ending = isPausedByPlugin ? undefined : endings[state]?.(state_reason ?? 'failed')
  if (ending) return { kind: 'rule', id, verdict: 'stop', reason: ending[0], text: ending[1] }
  return {
    kind: 'rule',
    id,
    verdict: 'pass',
    reason: state,
    text: `the rule is ${state}; its owner is ${owner}`
  }
}

/** Returns a step for a state set by a plugin, or a closed rule reported by the agent, that no plugin explains. */
function closedStep(asked: ExplainedRule, steps: readonly Step[]): Step | null {
  const { state, state_reason } = shownState(asked)
  if (state === 'active' && state_reason === null) return null
  const [reason = state] = (state_reason ?? state).split(' ')
  if (steps.some(step => step.verdict === 'info' && step.reason === reason)) return null // a plugin knows that it is open
  const text = `the rule is closed: ${state_reason ?? state}`
  return { kind: 'rule', id: asked.rule.rule_id, verdict: 'stop', reason, text }
}
