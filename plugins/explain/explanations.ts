// Combines the explanations of server and agent.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, rateLimited } from '../../kernel/base/errors.ts'
import type { Peers } from '../../kernel/control/peers.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { Refused } from '../../kernel/wire/message.ts'
import type { ExplainedRule } from '../rules/exports.ts'
import { explainPaths, pathFields, pathsOf, questionFor, withHops } from './path-steps.ts'
import type { Explanation, Question, Step, Target } from './schema.ts'
import {
  type Listening,
  type Services,
  type Server as Steps,
  serverSteps,
  unknownReasons
} from './server-steps.ts'
import { Ask, capability, type ProbedTarget, probeMs, type Report } from './wire.ts'

/** The server's part, and the names of the rules on the port, by id. */
interface Server extends Steps {
  readonly names: ReadonlyMap<string, string>
}

/** The service `explanations`. */
export interface Explanations {
  /** Returns the server's part. Throws `client_not_found`, `client_not_granted` or `client_name_ambiguous`. */
  explainOnServer(question: Question, principal: Principal, em: EntityManager): Promise<Server>
  /** Adds the agent's part, unless the server already stops the caller. */
  finish(server: Server, question: Question): Promise<Explanation>
  /** Runs a probe of a user. Throws `rate_limited` if the user runs too many at once. */
  runProbe<T>(userId: string, work: () => Promise<T>): Promise<T>
}

const deadlineMs = probeMs + 400
const maxProbesOfUser = 2

export function openExplanations(services: Services): Explanations {
  const { rules, control, filled } = services

  async function explainOnServer(
    question: Question,
    principal: Principal,
    em: EntityManager
  ): Promise<Server> {
    const { client: named, protocol, port } = question
    const client = await rules.findVisibleClient(named, principal, em)
    const found = await rules.findOnPort({ clientId: client.id, protocol, port }, principal, em)
    const steps = await serverSteps(services, { client, found, question }, em)
    return { ...steps, names: listNames(found) }
  }

  async function finish({ steps, asked, names }: Server, question: Question): Promise<Explanation> {
    if (!asked) return explanationOf(steps, [], names)
    const judged = await explainPaths(filled, asked)
    const report = await ask(asked, questionFor(question, judged), control.peers)
    const paths = pathsOf(judged, report)
    const own = report.steps.map(step => stepOf(step, asked))
    return explanationOf(
      [...steps, ...withHops(own, paths)],
      report.targets.map((target, at) => ({
        ...targetOf(target, at, asked),
        ...pathFields(paths, at, target)
      })),
      names
    )
  }

  return { explainOnServer, finish, runProbe: openProbeLimit() }
}

/** Asks the agent. If it does not answer, returns a step that says so. */
async function ask(
  { clientId, id, port, source, sni }: ExplainedRule,
  question: Question,
  peers: Peers
): Promise<Report> {
  const peer = peers.find(clientId)
  const stop = (reason: string, text: string): Report => ({
    steps: [{ kind: 'client', id: clientId, verdict: 'stop', reason, text }],
    targets: []
  })
  if (!peer) return stop('client_not_connected', 'the client is offline: start its agent, or check its log')
  if (!peer.can(capability))
    return stop(
      'explain_unsupported_by_client',
      `the client runs ${peer.agentVersion} without the plugin explain: update it, or enable the plugin there`
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
    return stop('ack_timeout', `the client did not answer: ${error.message}`)
  }
}

function openProbeLimit(): Explanations['runProbe'] {
  const probing = new Map<string, number>() // running probes by user

  return async function runProbe<T>(userId: string, work: () => Promise<T>): Promise<T> {
    const running = probing.get(userId) ?? 0
    if (running >= maxProbesOfUser)
      throw new Fault(rateLimited, `${running} of your probes are running; wait until one ends`, {
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

/** Replaces a member's id, which the agent reports, by the id of its group rule. */
const stepOf = (
  { kind, verdict, reason, text, ...step }: Report['steps'][number],
  asked: ExplainedRule
): Step => ({
  kind,
  id: step.id === asked.id ? asked.rule.rule_id : step.id,
  verdict,
  reason: reason ?? null,
  text
})

/** Returns the names of the rules that have one, by id. */
const listNames = (found: readonly Listening[]): ReadonlyMap<string, string> =>
  new Map(
    found.flatMap(({ rule: { rule_id: id, name } }) =>
      typeof name === 'string' ? [[id, name] as const] : []
    )
  )

/** The stop decides; for a forwarded caller, the first target that accepts it, or the rule if there was no probe. */
function explanationOf(
  steps: readonly Step[],
  targets: readonly Target[],
  names: Server['names']
): Explanation {
  const deciding =
    steps.find(({ verdict }) => verdict === 'stop') ??
    steps.find(({ kind, verdict }) => kind === 'target' && verdict === 'pass') ??
    steps.find(({ kind }) => kind === 'rule')
  if (!deciding) throw new TypeError('no step decides')
  const { kind, id, verdict, reason } = deciding
  const withName = <S extends { readonly id: string }>(step: S) => {
    const name = names.get(step.id)
    return name === undefined ? step : { ...step, rule_name: name }
  }
  return {
    outcome: verdict === 'stop' ? outcomeOf(reason) : 'forwarded',
    decided_by: withName({ kind, id, reason: reason ?? verdict }),
    steps: steps.map(withName),
    targets: [...targets]
  }
}

function outcomeOf(reason: string | null): Explanation['outcome'] {
  if (reason === 'no_rule') return 'no_rule'
  return reason !== null && unknownReasons.includes(reason) ? 'unknown' : 'refused'
}

/** `at`: its index in the order of agents. Several targets may have the same host and port, on different paths. */
function targetOf(target: ProbedTarget, at: number, { rule, port }: ExplainedRule): Target {
  const { host, port: own, address, dns_ms, connect_ms, path_ms: _, ...more } = target
  const first = own - (port - rule.listen_port)
  const isIt = (one: (typeof rule.targets)[number] | undefined) => one?.host === host && one.port === first
  const sorted = rule.targets.toSorted((a, b) => a.priority - b.priority)
  const found = isIt(sorted[at]) ? sorted[at] : sorted.find(isIt)
  const { priority = 0 } = found ?? {}
  const measured = { address: address ?? null, dns_ms: dns_ms ?? null, connect_ms: connect_ms ?? null }
  return { host, port: own, priority, ...measured, ...more }
}
