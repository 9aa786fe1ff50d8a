// Puts together what server and agent know about a caller.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, rateLimited } from '../../kernel/base/errors.ts'
import type { Peers } from '../../kernel/control/peers.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { Refused } from '../../kernel/wire/message.ts'
import type { ExplainedRule } from '../rules/exports.ts'
import type { Explanation, Question, Step, Target } from './schema.ts'
import { type Server, type Services, serverSteps, unknownReasons } from './server-steps.ts'
import { Ask, capability, type ProbedTarget, probeMs, type Told } from './wire.ts'

export type Explanations = ReturnType<typeof openExplanations>

const deadlineMs = probeMs + 400
const maxProbesOfUser = 2

export function openExplanations(services: Services) {
  const { rules, control } = services

  /** Returns what the server knows. Throws `client_not_found`, `client_not_granted` or `client_name_ambiguous`. */
  async function look(question: Question, principal: Principal, em: EntityManager): Promise<Server> {
    const { client: named, protocol, port } = question
    const client = await rules.findVisibleClient(named, principal, em)
    const found = await rules.findOnPort({ clientId: client.id, protocol, port }, principal, em)
    return serverSteps(services, { client, found, question }, em)
  }

  /** Asks the agent where the server stops no caller. */
  async function finish({ steps, asked }: Server, question: Question): Promise<Explanation> {
    if (!asked) return explanationOf(steps, [])
    const told = await ask(asked, question, control.peers)
    return explanationOf(
      [...steps, ...told.steps.map(step => stepOf(step, asked))],
      told.targets.map(target => targetOf(target, asked))
    )
  }

  return { look, finish, probed: openProbeLimit() }
}

/** Asks the agent. A client that does not answer is told of in a step. */
async function ask(
  { clientId, id, port, source, sni }: ExplainedRule,
  question: Question,
  peers: Peers
): Promise<Told> {
  const peer = peers.find(clientId)
  const stop = (reason: string, text: string): Told => ({
    steps: [{ kind: 'client', id: clientId, verdict: 'stop', reason, text }],
    targets: []
  })
  if (!peer)
    return stop('client_not_connected', 'the client is not connected: start its agent, or see its log')
  if (!peer.can(capability))
    return stop(
      'explain_unsupported_by_client',
      `the client runs ${peer.agentVersion} without the plugin explain; update it, or enable it there`
    )
  const probe = question.probe ? (question.dry ? 'dry' : 'full') : 'none'
  const body = {
    rule_id: id,
    port,
    ...(source !== null && { source }),
    ...(sni !== null && { sni }),
    probe,
    test_byte: question.test_byte === true
  } as const
  try {
    return await peer.request(Ask, body, { deadlineMs })
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    if (error.code === 'too_many_probes') return stop(error.code, error.message)
    return stop('ack_timeout', `the client has not answered: ${error.message}`)
  }
}

/** Returns what runs a probe of a user. It throws `rate_limited` where they have too many at once. */
function openProbeLimit() {
  const probing = new Map<string, number>() // by user, while their probes run

  return async function probed<T>(userId: string, work: () => Promise<T>): Promise<T> {
    const running = probing.get(userId) ?? 0
    if (running >= maxProbesOfUser)
      throw new Fault(rateLimited, `${running} probes of yours are running; wait until one has ended`, {
        details: { retry_after_secs: 3 }
      })
    probing.set(userId, running + 1)
    try {
      return await work()
    } finally {
      const left = (probing.get(userId) ?? 1) - 1
      if (left > 0) probing.set(userId, left)
      else probing.delete(userId)
    }
  }
}

/** An agent knows of a rule on several clients the id of its part alone. */
const stepOf = (
  { kind, verdict, reason, text, ...step }: Told['steps'][number],
  asked: ExplainedRule
): Step => ({
  kind,
  id: step.id === asked.id ? asked.rule.rule_id : step.id,
  verdict,
  reason: reason ?? null,
  text
})

/** The stop decides; for a caller who is forwarded the first target that takes them, or without a probe the rule. */
function explanationOf(steps: readonly Step[], targets: readonly Target[]): Explanation {
  const deciding =
    steps.find(({ verdict }) => verdict === 'stop') ??
    steps.find(({ kind, verdict }) => kind === 'target' && verdict === 'pass') ??
    steps.find(({ kind }) => kind === 'rule')
  if (!deciding) throw new TypeError('nothing has decided')
  const { kind, id, verdict, reason } = deciding
  return {
    outcome: verdict === 'stop' ? outcomeOf(reason) : 'forwarded',
    decided_by: { kind, id, reason: reason ?? verdict },
    steps: [...steps],
    targets: [...targets]
  }
}

function outcomeOf(reason: string | null): Explanation['outcome'] {
  if (reason === 'no_rule') return 'no_rule'
  return reason !== null && unknownReasons.includes(reason) ? 'unknown' : 'refused'
}

function targetOf(target: ProbedTarget, { rule, port }: ExplainedRule): Target {
  const { host, port: own, address, dns_ms, connect_ms, ...more } = target
  const first = own - (port - rule.listen_port)
  const { priority = 0 } = rule.targets.find(one => one.host === host && one.port === first) ?? {}
  const measured = { address: address ?? null, dns_ms: dns_ms ?? null, connect_ms: connect_ms ?? null }
  return { host, port: own, priority, ...measured, ...more }
}
