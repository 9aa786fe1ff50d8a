// Callers that make changes at any server and record the outcome of each.
import { setTimeout as pause } from 'node:timers/promises'
import { newId } from '../../kernel/platform/id.ts'
import { type Call, oneOf, type Reply, ruleOf, type Server, type ServerPlace } from './server-place.ts'

/** A change is made or refused, or its outcome is unknown. */
export type Outcome = Reply & { readonly tries: number; readonly servers: readonly string[] }

/** True if the change is in the store; 504 is stored, and waits for its agent. */
export const isMade = ({ status }: Pick<Reply, 'status'>): boolean =>
  (status >= 200 && status < 300) || status === 504

/** True if the same call with its key is safe to retry. */
const isOpen = ({ status, body }: Reply): boolean =>
  status === 0 ||
  status === 502 ||
  status === 503 ||
  (status === 409 && codeOf(body) === 'idempotency_in_progress')

export const codeOf = (body: Reply['body']): string =>
  String((body['error'] as { readonly code?: unknown } | undefined)?.code ?? '')

/** Makes a call with a key at any server, and retries at others until the outcome is known. */
export async function decide(
  servers: readonly Server[],
  call: Call,
  { withinMs = 120_000, restMs = 100 } = {}
): Promise<Outcome> {
  const keyed = { key: newId(Date.now()), ...call }
  const asked: string[] = []
  const began = performance.now()
  for (let tries = 1; ; tries++) {
    const server = oneOf(servers)
    asked.push(server.id)
    const reply = await server.call(keyed)
    if (!isOpen(reply) || performance.now() - began > withinMs) return { ...reply, tries, servers: asked }
    await pause(Math.random() * restMs)
  }
}

export interface MadeRule {
  readonly ruleId: string
  readonly clientId: string
}

const lowestPort = 20_000

/** Makes rules at random servers for random agents until it is ended. */
export function makeRules(
  { servers }: Pick<ServerPlace, 'servers'>,
  clientIds: readonly string[],
  { callers = 4, restMs = 20 } = {}
) {
  const made: MadeRule[] = []
  const waits: number[] = []
  const refused = new Map<string, number>()
  let isEnding = false
  let ports = 0

  async function one(): Promise<void> {
    while (!isEnding) {
      const clientId = oneOf(clientIds)
      const began = performance.now()
      const body = ruleOf(clientId, lowestPort + (ports++ % 40_000))
      const reply = await decide(servers, { method: 'POST', path: '/v1/rules', body })
      waits.push(performance.now() - began)
      const ruleId = ruleIdOf(reply)
      if (ruleId !== null) made.push({ ruleId, clientId })
      else refused.set(whyOf(reply), (refused.get(whyOf(reply)) ?? 0) + 1)
      await pause(restMs)
    }
  }
  const running = Array.from({ length: callers }, one)
  return {
    made,
    waits,
    refused,
    async end(): Promise<void> {
      isEnding = true
      await Promise.all(running)
    }
  }
}

/** Returns the id of the rule that was made. The error of a change that waits for its agent also has it. */
export function ruleIdOf(reply: Reply): string | null {
  const { body } = reply
  const error = body['error'] as { readonly details?: { readonly rule_id?: unknown } } | undefined
  const ruleId = body['rule_id'] ?? error?.details?.rule_id
  return isMade(reply) && typeof ruleId === 'string' ? ruleId : null
}

const whyOf = ({ status, body }: Reply): string => `${status} ${codeOf(body)}`.trim()
